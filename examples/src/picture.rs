//! Images in a terminal: in come grey pixels, out comes text. Always: a pixel is two characters wide,
//! so that it is square, and shaded with characters that every terminal font has.

/// Dark to light.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// Images side by side, with a caption under each.
pub fn row<const W: usize, const H: usize>(images: &[[[f32; W]; H]], captions: &[String]) -> String {
    let mut text = String::new();
    for y in 0..H {
        for image in images {
            for pixel in image[y] {
                let shade = (pixel.clamp(0.0, 1.0) * (SHADES.len() - 1) as f32).round() as usize;
                text.extend([SHADES[shade]; 2]);
            }
            text.push_str("  ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    for caption in captions {
        text.push_str(&format!("{caption:<width$}  ", width = 2 * W));
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_stand_side_by_side() {
        let images = [[[0.0, 1.0], [0.5, 0.0]], [[1.0, 1.0], [0.0, 0.3]]];
        let captions = ["a".into(), "b".into()];
        assert_eq!(row(&images, &captions), "  ██  ████\n▒▒      ░░\na     b");
    }
}

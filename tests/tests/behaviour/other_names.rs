//! Files that other programs wrote: in several parts, with names that are not the model's, and with more or less in them.

use precast::prelude::*;
use precast::{Error, File};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

model! {
    /// The encoder of a text.
    pub struct Encoder {
        token: Embedding(11, 8),
        blocks: [Block; 2],
        norm: LayerNorm(8),
    }

    struct Block {
        norm: LayerNorm(8),
        query: Linear(8, 8),
    }
    impl Block {
        fn forward(&self, x: f32[.., 8]) -> f32[.., 8] { x + tanh(self.query(self.norm(x))) }
    }

    impl Encoder {
        /// A vector for every token.
        pub fn encode(&self, ids: u32[B]) -> f32[B, 8] {
            let mut x = self.token(ids);
            for block in self.blocks {
                x = block(x);
            }
            self.norm(x)
        }
    }

    /// The same with a layer more and a norm less.
    pub struct Classifier {
        token: Embedding(11, 8),
        blocks: [Block; 2],
        head: Linear(8, 3),
    }
    impl Classifier {
        /// Class scores of every token.
        pub fn scores(&self, ids: u32[B]) -> f32[B, 3] {
            let mut x = self.token(ids);
            for block in self.blocks {
                x = block(x);
            }
            self.head(x)
        }
    }
}

const IDS: [u32; 4] = [3, 0, 10, 3];

/// What the other program calls a parameter.
fn other(name: &str) -> String {
    let name = match name.strip_prefix("blocks.") {
        Some(rest) => {
            let (number, rest) = rest.split_once('.').unwrap();
            let rest = rest.replace("query.", "attention.self.query.").replace("norm.", "LayerNorm.");
            format!("encoder.layer.{number}.{rest}")
        }
        None => name.replace("token.", "embeddings.word_embeddings.").replace("norm.", "final_norm."),
    };
    format!("bert.{}", name.replace("orm.weight", "orm.gamma").replace("orm.bias", "orm.beta"))
}

/// Writes an encoder as the other program would, in two parts with an index, beside a head that no encoder has.
fn write(net: &Encoder, folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let bytes = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let mut all: BTreeMap<String, (Vec<usize>, Vec<u8>)> =
        net.parameters().map(|(name, shape, values)| (other(&name), (shape.to_vec(), bytes(values)))).collect();
    all.insert("cls.bias".into(), (vec![1], bytes(&[5.0])));
    let mut map = vec![];
    for part in 0..2 {
        let file = format!("model-0000{}-of-00002.safetensors", part + 1);
        let held = all.iter().skip(part).step_by(2);
        let views = held.map(|(name, (shape, bytes))| {
            map.push(format!("\"{name}\": \"{file}\""));
            (name, safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), bytes).unwrap())
        });
        let bytes = safetensors::serialize(views, None).unwrap();
        std::fs::write(folder.join(&file), bytes).unwrap();
    }
    let index = folder.join("model.safetensors.index.json");
    let text = format!("{{\"metadata\": {{\"total_size\": 1004.0}}, \"weight_map\": {{{}}}}}", map.join(",\n"));
    std::fs::write(&index, text).unwrap();
    index
}

fn renamed(index: &Path) -> File {
    File::new(index)
        .prefix("bert.")
        .rename("embeddings.word_embeddings", "token")
        .rename("encoder.layer.*.attention.self.query", "blocks.*.query")
        .rename("encoder.layer.*.LayerNorm.gamma", "blocks.*.norm.weight")
        .rename("encoder.layer.*.LayerNorm.beta", "blocks.*.norm.bias")
        .rename("final_norm.gamma", "norm.weight")
        .rename("final_norm.beta", "norm.bias")
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

#[test]
fn a_model_in_parts_and_with_other_names_is_the_model() -> precast::Result<()> {
    let folder = folder("parts");
    let net = Encoder::init(5);
    let index = write(&net, &folder);
    let expected = net.encode(&IDS)?;

    assert_eq!(Encoder::open_from(&renamed(&index))?.encode(&IDS)?, expected);
    let (mut waited, mut polled) = (Encoder::init(6), Encoder::init(7));
    waited.load_from(&renamed(&index))?;
    Cpu.wait(polled.load_from_async(&renamed(&index)))?;
    assert_eq!(waited.encode(&IDS)?, expected);
    assert_eq!(polled.encode(&IDS)?, expected);

    // Without the renames everything differs, and the parameters stay what they are.
    for error in [waited.load(&index).unwrap_err(), Encoder::open(&index).unwrap_err()] {
        let Error::Tensors { differences, .. } = error else { panic!("{error}") };
        assert_eq!(differences.len(), 2 * 11 + 1);
    }
    assert_eq!(waited.encode(&IDS)?, expected);
    std::fs::remove_dir_all(&folder).unwrap();
    Ok(())
}

#[test]
fn a_part_of_a_model_is_loaded_into_another() -> precast::Result<()> {
    let folder = folder("partly");
    let encoder = Encoder::init(5);
    let file = renamed(&write(&encoder, &folder)).strict(false);
    let mut net = Classifier::init(6);
    let head = *net.views().head.weight;
    let unmatched = net.load_from(&file)?;
    assert_eq!(unmatched.missing, ["head.weight", "head.bias"]);
    assert_eq!(unmatched.unexpected, ["bert.final_norm.beta", "bert.final_norm.gamma"]);
    assert_eq!(net.views().head.weight, &head);
    assert_eq!(net.views().blocks.query.weight, encoder.views().blocks.query.weight);
    assert!(Classifier::open_from(&file).unwrap_err().to_string().ends_with("\n  `head.bias` [3] is missing"));
    std::fs::remove_dir_all(&folder).unwrap();
    Ok(())
}

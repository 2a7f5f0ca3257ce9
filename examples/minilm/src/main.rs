//! Embeds sentences with all-MiniLM-L6-v2, whose network is read from an ONNX file while this program is built, says how
//! similar they are, and trains a new layer on top of it, which tells what a customer writes about.
//!
//! ```text
//! python examples/minilm/fetch.py
//! cargo run --release --manifest-path examples/minilm/Cargo.toml
//! ```
//!
//! The first writes the file and needs `pip install torch transformers onnx`. Sentences behind a `--` at the end of the
//! second are embedded instead of those below.

use std::time::Instant;

use precast::{View, prelude::*};
use tokenizers::{PaddingParams, Result, Tokenizer, TruncationParams};

model! {
    /// The network of the file: token ids, and 1 where a token is and 0 where there is padding, to 384 numbers for each.
    struct MiniLm = onnx("../minilm.onnx", batch = B, sequence = T <= 512);

    /// Sentences as vectors, and a new layer that tells three topics apart.
    pub struct Sentences {
        body: MiniLm,
        head: Linear(384, 3),
    }

    impl Sentences {
        /// The mean over the tokens of each sentence, of length 1.
        pub fn embed(&self, ids: i64[B, T <= 512], mask: i64[B, T <= 512]) -> f32[B, 384] {
            let there = unsqueeze(mask.f32(), -1);
            normalize(sum(self.body(ids, mask) * there, axis = 1) / sum(there, axis = 1))
        }

        /// Unnormalised scores of the topics.
        pub fn scores(&self, ids: i64[B, T <= 512], mask: i64[B, T <= 512]) -> f32[B, 3] {
            self.head(self.embed(ids, mask))
        }

        /// Mean cross-entropy. Only the new layer is trained: what was learnt of language stays as it is.
        #[train(AdamW, only = head)]
        pub fn loss(&self, ids: i64[B, T <= 512], mask: i64[B, T <= 512], topic: u32[B]) -> f32 {
            cross_entropy(self.scores(ids, mask), topic)
        }
    }
}

const SENTENCES: [&str; 5] = [
    "A man is eating a piece of bread.",
    "Somebody has a sandwich for lunch.",
    "The orchestra plays a symphony by Mahler.",
    "A violinist rehearses for tonight's concert.",
    "The compiler found a mistake in the program.",
];

const NAMES: [&str; 3] = ["payment", "delivery", "software"];

/// What customers wrote, and the topic of each.
const LETTERS: [(&str, u32); 12] = [
    ("I was charged twice this month.", 0),
    ("Please send me a copy of the invoice.", 0),
    ("My credit card was declined.", 0),
    ("When do I get my money back?", 0),
    ("The parcel has not arrived.", 1),
    ("It was left at the wrong address.", 1),
    ("The box was damaged when it came.", 1),
    ("How long does shipping take?", 1),
    ("The app crashes when I open it.", 2),
    ("I cannot log in since the update.", 2),
    ("The screen stays black after I press start.", 2),
    ("How do I reset my password?", 2),
];

/// Others, which the layer has not seen.
const UNSEEN: [&str; 6] = [
    "The courier never rang the bell.",
    "You took too much from my bank account.",
    "There is a bug in the latest version.",
    "Where is my package?",
    "Can I pay by instalments?",
    "The button does nothing when I click on it.",
];

fn main() -> Result<()> {
    let tokenizer = tokenizer()?;
    let start = Instant::now();
    let mut model = Sentences::open_onnx(concat!(env!("CARGO_MANIFEST_DIR"), "/minilm.onnx"), 0)?;
    println!("{} parameters in {:.2} s\n", Sentences::PARAMS, start.elapsed().as_secs_f32());

    let given: Vec<String> = std::env::args().skip(1).collect();
    let given: Vec<&str> =
        if given.is_empty() { SENTENCES.to_vec() } else { given.iter().map(String::as_str).collect() };
    compare(&model, &tokenizer, &given)?;
    train(&mut model, &tokenizer)?;

    let unseen = Batch::new(&tokenizer, &UNSEEN)?;
    println!("\nnot seen in training:");
    for (text, scores) in UNSEEN.iter().zip(model.scores(unseen.ids()?, unseen.mask()?)?) {
        let best = (0..3).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0);
        println!("{:>10}  {text}", NAMES[best]);
    }
    Ok(())
}

/// Prints the cosine of each pair: vectors have length 1, so that it is the sum of products.
fn compare(model: &Sentences, tokenizer: &Tokenizer, texts: &[&str]) -> Result<()> {
    let batch = Batch::new(tokenizer, texts)?;
    let vectors = model.embed(batch.ids()?, batch.mask()?)?;
    for (text, one) in texts.iter().zip(&vectors) {
        for other in &vectors {
            print!("{:6.2}", one.iter().zip(other).map(|(x, y)| x * y).sum::<f32>());
        }
        println!("  {text}");
    }

    let mut session = model.session();
    let alone = Batch::new(tokenizer, &texts[..1])?;
    let mut shortest = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        session.embed(alone.ids()?, alone.mask()?)?;
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    println!("one sentence of {} tokens: {:.1} ms\n", alone.length, shortest * 1e3);
    Ok(())
}

fn train(model: &mut Sentences, tokenizer: &Tokenizer) -> Result<()> {
    let (texts, topics): (Vec<&str>, Vec<u32>) = LETTERS.into_iter().unzip();
    let batch = Batch::new(tokenizer, &texts)?;
    let mut trainer = model.trainer(AdamW { rate: 3e-2, ..default() });
    for step in 0..=30 {
        let loss = trainer.loss(batch.ids()?, batch.mask()?, &topics)?.value()?;
        if step % 10 == 0 {
            println!("step {step:>2}: loss {loss:.4}");
        }
    }
    Ok(())
}

/// The tokens of sentences, padded to the longest of them.
struct Batch {
    ids: Vec<i64>,
    mask: Vec<i64>,
    length: usize,
}

impl Batch {
    fn new(tokenizer: &Tokenizer, texts: &[&str]) -> Result<Self> {
        let rows = tokenizer.encode_batch(texts.to_vec(), true)?;
        let ids = rows.iter().flat_map(|row| row.get_ids()).map(|&id| id.into()).collect();
        let mask = rows.iter().flat_map(|row| row.get_attention_mask()).map(|&there| there.into()).collect();
        Ok(Batch { ids, mask, length: rows.first().map_or(0, |row| row.len()) })
    }

    fn ids(&self) -> precast::Result<View<'_, i64, 2>> {
        View::new(&self.ids, [self.ids.len() / self.length, self.length])
    }

    fn mask(&self) -> precast::Result<View<'_, i64, 2>> {
        View::new(&self.mask, [self.mask.len() / self.length, self.length])
    }
}

/// The tokenizer of the network, which would pad all sentences to 128 tokens.
fn tokenizer() -> Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_file(concat!(env!("CARGO_MANIFEST_DIR"), "/tokenizer.json"))?;
    tokenizer.with_padding(Some(PaddingParams::default()));
    tokenizer.with_truncation(Some(TruncationParams::default()))?;
    Ok(tokenizer)
}

//! Elements in other files: found wherever they are, once where several tensors have them, and refused where they cannot be.

use super::*;
use precast_compiler::ir::model::Origin;
use precast_compiler::onnx::origin;
use precast_compiler::onnx::proto::{FunctionProto, StringStringEntryProto};
use proc_macro2::Literal;
use std::path::{Path, PathBuf};

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("precast-external-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("parts")).unwrap();
        Folder(path)
    }

    /// Writes a file of floats.
    fn write(&self, name: &str, numbers: &[f32]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        std::fs::write(self.0.join(name), bytes).unwrap();
    }

    fn read(&self, model: &ModelProto) -> File {
        File::decode(model.encode_to_vec(), Some(&self.0)).unwrap()
    }

    /// What is wrong with a model.
    fn refusals(&self, model: &ModelProto) -> Vec<String> {
        let refusals = import(&self.read(model), &Bound::default(), Span::call_site()).unwrap_err();
        refusals.iter().map(ToString::to_string).collect()
    }

    /// What a model gives, and where its parameters are.
    fn opened(&self, file: &ModelProto, x: Tensor) -> (Vec<f64>, Result<Origin, Refusal>) {
        let file = self.read(file);
        let (model, weights) = import(&file, &Bound::default(), Span::call_site()).unwrap().model("Model");
        let params = weights.iter().map(Weight::elements).collect();
        let made = oracle::run(&model.functions[0], &model, &Env { args: vec![x], params, ..Env::default() });
        (made.unwrap().results[0].data.numbers(), origin(&model, &weights, &file, Literal::string("model.onnx")))
    }

    /// Why a weight of two floats that is there is refused.
    fn refusal(&self, place: &[(&str, &str)]) -> String {
        let sum = node("Add", &["x", "w"], &["y"], vec![]);
        let file = model(vec![sum], vec![x()], &["y"], vec![at(floats("w", &[2], &[]), place)]);
        self.refusals(&file).remove(0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn x() -> ValueInfoProto {
    input("x", FLOAT, &[Extent::DimValue(2)])
}

/// The tensor, with its elements elsewhere.
fn at(tensor: TensorProto, place: &[(&str, &str)]) -> TensorProto {
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto { key: (*key).into(), value: (*value).into() };
    TensorProto { data_location: 1, external_data: place.iter().map(entry).collect(), ..tensor }
}

fn of_graph(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(graph), ..attribute_of(name) }
}

#[test]
fn elements_are_found_wherever_they_are() {
    let folder = Folder::new("found");
    folder.write("a.data", &[9.0, 1.0, 2.0]);
    folder.write("parts/b.data", &[10.0, 20.0, 300.0, 400.0, 7.0]);
    let place = |file, offset| [("offset", offset), ("location", file)];
    // Of an initialiser, of a constant, of one in a branch, and of one in a function; the last two say what they leave out.
    let constant = |tensor: TensorProto, name: &str| {
        node("Constant", &[], &[name], vec![AttributeProto { t: Some(tensor), ..attribute_of("value") }])
    };
    let w = at(floats("w", &[2], &[5.0, 5.0]), &[("location", "./a.data"), ("offset", "4"), ("length", "8")]);
    let branch = GraphProto {
        node: vec![node("Add", &["b", "inner"], &["c"], vec![])],
        initializer: vec![at(floats("inner", &[2], &[]), &place("parts/b.data", "8"))],
        output: vec![ValueInfoProto { name: "c".into(), r#type: None }],
        ..GraphProto::default()
    };
    let function = FunctionProto {
        name: "Shift".into(),
        domain: "own".into(),
        input: vec!["given".into()],
        output: vec!["shifted".into()],
        node: vec![
            constant(at(floats("", &[1], &[]), &place("parts/b.data", "16")), "by"),
            node("Add", &["given", "by"], &["shifted"], vec![]),
        ],
        ..FunctionProto::default()
    };
    let yes = TensorProto { name: "yes".into(), data_type: 9, int32_data: vec![1], ..TensorProto::default() };
    let both = vec![of_graph("then_branch", branch.clone()), of_graph("else_branch", branch)];
    let nodes = vec![
        node("Add", &["x", "w"], &["a"], vec![]),
        constant(at(floats("", &[2], &[]), &[("location", "parts/b.data"), ("length", "8")]), "k"),
        node("Add", &["a", "k"], &["b"], vec![]),
        node("If", &["yes"], &["c"], both),
        NodeProto { domain: "own".into(), ..node("Shift", &["c"], &["y"], vec![]) },
    ];
    let mut file = model(nodes, vec![x()], &["y"], vec![w, yes]);
    file.functions = vec![function];
    file.opset_import.push(OperatorSetIdProto { domain: "own".into(), version: 1 });
    let (made, origin) = folder.opened(&file, Tensor::floats([2], vec![0.25, 0.5]));
    assert_eq!(made, [318.25, 429.5]);
    let (origin, own) = (origin.unwrap(), file.encode_to_vec().len());
    assert_eq!((origin.len, &origin.external), (own as u64, &vec![("a.data".into(), 12), ("parts/b.data".into(), 20)]));
    let held: Vec<(usize, bool)> =
        origin.tensors.iter().flat_map(|(_, held)| held).map(|held| (held.start, held.in_program)).collect();
    assert!(held.contains(&(own + 4, false)) && held.contains(&(own + 12 + 8, false)), "{held:?}");
}

#[test]
fn an_element_that_decides_a_shape_is_part_of_the_program() {
    let folder = Folder::new("decides");
    let words: Vec<u8> = [1i64, 2].iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(folder.0.join("a.data"), words).unwrap();
    let shape = at(integers("shape", &[0, 0]), &[("location", "a.data")]);
    let reshape = node("Reshape", &["x", "shape"], &["y"], vec![]);
    let (made, origin) =
        folder.opened(&model(vec![reshape], vec![x()], &["y"], vec![shape]), Tensor::floats([2], vec![3.0, 4.0]));
    assert_eq!((made, origin.unwrap().tensors.len()), (vec![3.0, 4.0], 0));
}

#[test]
fn tensors_of_one_place_are_one_parameter() {
    let folder = Folder::new("tied");
    let side = 600;
    folder.write("a.data", &vec![0.5; side * side]);
    let w = |name: &str, dims: &[i64]| at(floats(name, dims, &[]), &[("location", "a.data")]);
    let square = [side as i64; 2];
    let nodes =
        || vec![node("MatMul", &["x", "encoder"], &["h"], vec![]), node("MatMul", &["h", "decoder"], &["y"], vec![])];
    let x = input("x", FLOAT, &[Extent::DimValue(1), Extent::DimValue(square[0])]);
    let file = |known| model(nodes(), vec![x.clone()], &["y"], known);
    let zeros = || Tensor::floats([1, side], vec![0.0; side]);
    let (_, origin) = folder.opened(&file(vec![w("encoder", &square), w("decoder", &square)]), zeros());
    let origin = origin.unwrap();
    assert_eq!((origin.tensors.len(), origin.constants.len()), (1, 0));
    // They are two where they lie on one another otherwise: the hash does not know which of their bytes are weights.
    let half = w("decoder", &[square[0], 300]);
    let (_, origin) = folder.opened(&file(vec![w("encoder", &square), half]), zeros());
    assert!(origin.unwrap_err().to_string().contains("lie on those of another tensor"));
    // Nor may many ask for more than there is.
    let many = (0..3).map(|k| {
        at(floats(&format!("w{k}"), &[1 << k, 1, (square[0] * square[0]) >> k], &[]), &[("location", "a.data")])
    });
    let refusals = folder.refusals(&file(many.collect()));
    assert_eq!(refusals[0], "its tensors have 4320000 bytes in other files, and these have only 1440000");
}

/// What one of two tensors in one place decides is not left to a file in which it may be another.
#[test]
fn a_place_that_decides_is_no_parameter() {
    let folder = Folder::new("both");
    folder.write("a.data", &[2.0, 3.0]);
    let here = |tensor| at(tensor, &[("location", "a.data")]);
    let constant = AttributeProto { t: Some(here(floats("", &[2], &[]))), ..attribute_of("value") };
    let nodes = [
        node("Constant", &[], &["k"], vec![constant]),
        node("Mul", &["k", "k"], &["square"], vec![]),
        node("Add", &["x", "w"], &["sum"], vec![]),
        node("Add", &["sum", "square"], &["y"], vec![]),
    ];
    for order in [[0, 1, 2, 3], [2, 0, 1, 3]] {
        let nodes = order.map(|number| nodes[number].clone()).to_vec();
        let file = model(nodes, vec![x()], &["y"], vec![here(floats("w", &[2], &[]))]);
        let (made, origin) = folder.opened(&file, Tensor::floats([2], vec![1.0, 1.0]));
        assert_eq!(made, [7.0, 13.0]);
        assert!(origin.unwrap().tensors.iter().flat_map(|(_, held)| held).all(|held| held.in_program));
    }
}

#[test]
fn a_file_of_many_names_is_read_once() {
    let folder = Folder::new("names");
    folder.write("a.data", &[1.0, 2.0]);
    let w = |name: &str, location| at(floats(name, &[2], &[]), &[("location", location)]);
    let known = vec![w("a", "a.data"), w("b", "./a.data"), w("c", ".//.//a.data")];
    let nodes = vec![
        node("Add", &["x", "a"], &["one"], vec![]),
        node("Add", &["one", "b"], &["two"], vec![]),
        node("Add", &["two", "c"], &["y"], vec![]),
    ];
    let (made, origin) = folder.opened(&model(nodes, vec![x()], &["y"], known), Tensor::floats([2], vec![0.0, 0.0]));
    assert_eq!((made, origin.unwrap().external), (vec![3.0, 6.0], vec![("a.data".into(), 8)]));
}

#[test]
fn places_that_are_none_are_refused_by_their_names() {
    let folder = Folder::new("refused");
    folder.write("a.data", &[1.0, 2.0, 3.0]);
    let none = folder.refusal(&[("location", "weights.bin")]);
    assert!(
        none.starts_with("elements of `w` are in another file: `weights.bin` cannot be read from its folder: "),
        "{none}"
    );
    for outside in ["/etc/passwd", "../a.data", "parts/../../a.data", "parts\\a.data", "C:a.data", "", "."] {
        let reason = folder.refusal(&[("location", outside)]);
        assert!(reason.contains(&format!("`{outside}` is no path of a file beside it")), "{reason}");
    }
    assert!(folder.refusal(&[]).contains("is no path of a file"));
    assert!(folder.refusal(&[("location", "parts")]).contains("`parts` cannot be read from its folder: it is no file"));
    let at = |offset, length| folder.refusal(&[("location", "a.data"), ("offset", offset), ("length", length)]);
    let beyond = "they are the 8 bytes from 8 on of `a.data`, which has only 12";
    assert!(at("8", "8").ends_with(beyond), "{}", at("8", "8"));
    assert!(folder.refusal(&[("location", "a.data"), ("offset", "8")]).ends_with(beyond));
    assert!(at("18446744073709551615", "8").contains("which has only 12"));
    assert!(at("-4", "8").ends_with("its `offset` is `-4`, which is no number of bytes"));
    assert!(at("0", "all").ends_with("its `length` is `all`, which is no number of bytes"));
    assert!(at("0", "4").ends_with("`w` has 4 bytes, but f32[2] is 2 × 4"), "{}", at("0", "4"));
    assert!(at("0", "0").ends_with("`w` has 0 elements, but its shape [2] asks for 2"), "{}", at("0", "0"));
    let twice = folder.refusal(&[("offset", "0"), ("location", "a.data"), ("offset", "6")]);
    assert!(twice.contains("from 6 on"), "{twice}");
}

#[test]
fn all_that_is_missing_is_said_at_once_and_of_each_file_once() {
    let folder = Folder::new("missing");
    let place = |file| [("location", file)];
    let w = |name: &str, file| at(floats(name, &[2], &[]), &place(file));
    let known = vec![w("a", "one"), w("b", "two"), w("c", "one")];
    let constant = AttributeProto { t: Some(w("", "three")), ..attribute_of("value") };
    let nodes = vec![
        node("Constant", &[], &["k"], vec![constant]),
        node("Add", &["a", "k"], &["sum"], vec![]),
        node("StringNormalizer", &["x"], &["y"], vec![]),
    ];
    let file = model(nodes, vec![x()], &["sum", "y"], known);
    let refusals = folder.refusals(&file);
    let wanted = ["elements of `a`", "elements of `b`", "elements of `k`", "`y` (StringNormalizer"];
    assert_eq!(refusals.len(), wanted.len(), "{refusals:#?}");
    assert!(refusals.iter().zip(wanted).all(|(found, wanted)| found.starts_with(wanted)), "{refusals:#?}");
    let alone = File::decode(file.encode_to_vec(), None).unwrap();
    let alone = import(&alone, &Bound::default(), Span::call_site()).unwrap_err();
    assert!(alone[0].to_string().ends_with("`one` is looked for in no folder"), "{}", alone[0]);
}

/// A pipe never ends, and a folder of others may hold one.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_read() {
    let folder = Folder::new("pipe");
    std::os::unix::fs::symlink("/dev/zero", folder.0.join("zeros")).unwrap();
    assert!(folder.refusal(&[("location", "zeros")]).contains("it is no file"));
    // As caches of downloads have them.
    folder.write("parts/real", &[1.0, 2.0]);
    std::os::unix::fs::symlink(Path::new("parts/real"), folder.0.join("link")).unwrap();
    let sum = node("Add", &["x", "w"], &["y"], vec![]);
    let file = model(vec![sum], vec![x()], &["y"], vec![at(floats("w", &[2], &[]), &[("location", "link")])]);
    assert_eq!(folder.opened(&file, Tensor::floats([2], vec![0.0, 0.0])).0, [1.0, 2.0]);
}

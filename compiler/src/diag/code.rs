//! The kinds of mistakes: each has a name that stays, and a sentence that explains it.

use std::fmt::{Display, Formatter, Result};

/// Declares the kinds in alphabetical order, which is that of their names.
macro_rules! codes {
    ($($code:ident $name:literal: $meaning:literal,)*) => {
        /// A kind of mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $meaning] $code,)*
        }

        impl Code {
            /// All kinds.
            pub const ALL: &[Code] = &[$(Code::$code),*];

            /// The name that messages and file names of tests show, such as `wrong-rank`.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name,)* }
            }
        }
    };
}

codes! {
    AnnotationContradicts "annotation-contradicts": "the value does not have the type that its `let` declares",
    AssignmentToImmutable "assignment-to-immutable": "only a variable declared with `let mut` can be assigned",
    AxisOutOfRange "axis-out-of-range": "the argument has no such axis",
    BadExpression "bad-expression": "the expression has no meaning at this place",
    BoundExceeded "bound-exceeded": "an extent may be larger than the bound that the signature declares",
    BoundedConstant "bounded-constant": "a bound stands at a constant, and only dimensions that a call binds have bounds",
    BranchTypes "branch-types": "the branches of an `if` or `match` give different types",
    BranchWithoutEffect "branch-without-effect": "a branch gives nothing and assigns no variable",
    BroadcastMismatch "broadcast-mismatch": "two shapes do not broadcast against each other",
    CapturedAssignment "captured-assignment": "a closure assigns a variable that is declared outside of it",
    CarriedTypeChanges "carried-type-changes": "a variable or state does not have the same type after a round of the loop as before it",
    ConditionNotScalar "condition-not-scalar": "what chooses a branch must be one value, not a tensor of several",
    ConditionType "condition-type": "what chooses a branch is neither a bool nor, for `match`, an integer",
    ConflictingDimension "conflicting-dimension": "one name would stand for two different extents",
    ControlFlow "control-flow": "Rust's `while`, `loop`, `return`, `break`, `continue` or `if let`, which the language has not",
    DuplicateAttribute "duplicate-attribute": "an attribute is given twice",
    DuplicateName "duplicate-name": "two declarations of the same kind share a name",
    DynamicValue "dynamic-value": "a number must be known at build time here",
    EinsumSpec "einsum-spec": "an einsum notation cannot be read or does not suit its arguments",
    FieldType "field-type": "a type stands where a field has its layer, block, parameter or state",
    ForeignDeclaration "foreign-declaration": "an `extern fn` has what only functions of the language have",
    ForeignWgsl "foreign-wgsl": "the WGSL of a foreign function cannot be read, or is not what the declaration asks for",
    FunctionForm "function-form": "a function is generic, or has a word of Rust that the language has not",
    GradientSignature "gradient-signature": "the gradient of a foreign function does not fit the function",
    IndexOutOfRange "index-out-of-range": "an index is outside of its axis",
    InnerDimension "inner-dimension": "the extents that a product sums over differ",
    IntegerDerivative "integer-derivative": "only floats have derivatives",
    KernelTooLarge "kernel-too-large": "a kernel or window is larger than its padded input",
    KeyReuse "key-reuse": "two draws of random numbers use one key, so that they give the same numbers",
    LiteralOutOfRange "literal-out-of-range": "a number is beyond what its element type or an extent holds",
    LoopOverData "loop-over-data": "a `for` runs over a tensor, or as often as only a call knows",
    LoopWithoutEffect "loop-without-effect": "a loop over blocks assigns no variable, or a range makes no round",
    MacroCall "macro-call": "a macro of Rust is called",
    MapAxis "map-axis": "what a function is mapped over has a first axis, the same for all arguments",
    MisplacedAttribute "misplaced-attribute": "an attribute stands where it means nothing",
    MissingArgument "missing-argument": "a struct is not given a value for one of its parameters",
    MissingArm "missing-arm": "a `match` leaves values that no arm takes",
    MissingAttribute "missing-attribute": "a required attribute is not given",
    MissingElse "missing-else": "an `if` that gives a value needs both branches",
    MissingGradient "missing-gradient": "training goes through a foreign function that has no gradient",
    MissingKey "missing-key": "random numbers are drawn outside of training without a key",
    MissingSelf "missing-self": "a field or function of the struct is named without `self.`",
    MixedDtype "mixed-dtype": "values of several element types meet without a conversion",
    NestedItem "nested-item": "an item stands inside of a function or `impl`",
    Nesting "nesting": "brackets, operators or branches are nested deeper than the compiler reads",
    NoForward "no-forward": "a block that is called like a function needs `fn forward`",
    NonDivisible "non-divisible": "a division of extents does not come out even",
    NonScalarGradient "non-scalar-gradient": "the function gives something else than what can be differentiated",
    NonScalarLoss "non-scalar-loss": "what a training function minimises must be a single f32",
    NotABlock "not-a-block": "what is imported is no block of a `model!`",
    NotAFunction "not-a-function": "a value stands where a function is needed",
    NotAKey "not-a-key": "a number or another tensor stands where random numbers need their key",
    NotAModel "not-a-model": "a struct with public functions is not public, or has a parameter without a default",
    NotATensor "not-a-tensor": "a block, layer, tuple or word stands where a tensor is needed",
    NotATuple "not-a-tuple": "a single value is taken apart",
    NotAssignable "not-assignable": "what stands left of `=` is neither a variable nor a state",
    NotCallable "not-callable": "what is called is neither a layer, a block nor a function",
    NotSupported "not-supported": "the language reserves this, but it is not built yet",
    NothingToTrain "nothing-to-train": "a loss has no parameters to train, or its gradient reaches none of those that it is computed from",
    Onnx "onnx": "an ONNX file cannot be read, or holds what cannot be imported",
    Op "op": "the op cannot be applied to these arguments",
    OverlappingPatterns "overlapping-patterns": "an arm of a `match` is never taken, because earlier ones take its values",
    PartAssignment "part-assignment": "a part of a variable is assigned, and only parts of states can be",
    PathName "path-name": "a name is written with the module that it has in Rust or Python",
    PatternType "pattern-type": "a pattern of a `match` is no value of the matched type",
    PrivateTraining "private-training": "a training function that nobody can call",
    Recursion "recursion": "a function or struct contains itself",
    Reference "reference": "a value or type is borrowed, though nothing is moved",
    ReservedName "reserved-name": "a public function has the name of a method that every model has, a struct that of a type parameter, or a field a word of Rust's",
    ReshapeCount "reshape-count": "a reshape would change the number of elements",
    SecondEllipsis "second-ellipsis": "an index has more than one `..`",
    ShapeMismatch "shape-mismatch": "two shapes that must agree do not",
    ShapeQuery "shape-query": "the shape of a value is asked for as if it were known at run time alone",
    SliceOutOfRange "slice-out-of-range": "a slice reaches beyond its axis",
    SliceSyntax "slice-syntax": "a slice is written as in Python",
    StateInTraining "state-in-training": "a function that is trained changes the state of a session",
    StateInside "state-inside": "a branch or a function that is mapped or differentiated assigns a state",
    StateNeedsMut "state-needs-mut": "state is assigned, or a function with `&mut self` called, in a function with `&self`",
    StateNotInferable "state-not-inferable": "nothing tells the type of a state that begins as zeros",
    StateStart "state-start": "a state is declared with a value to begin with",
    StepResult "step-result": "the closure of a scan gives something else than a state and a value",
    Syntax "syntax": "the text is not in the model language",
    TooLarge "too-large": "a tensor, a function or a model is larger than the compiler takes",
    TooManyAttributes "too-many-attributes": "a call gives more attributes than the op declares",
    TupleLength "tuple-length": "a pattern has another length than its value",
    TypeSyntax "type-syntax": "a type is written as in Rust or Python",
    UnassignedState "unassigned-state": "no function assigns a state",
    UnboundDimension "unbound-dimension": "no argument of the function binds the dimension's name",
    UnknownAttribute "unknown-attribute": "the op or layer has no such attribute",
    UnknownDimension "unknown-dimension": "the name in a shape is neither a constant nor a dimension",
    UnknownField "unknown-field": "the struct has no such field",
    UnknownFunction "unknown-function": "no op, layer or function has that name",
    UnknownLayer "unknown-layer": "no layer, block or parameter type has that name",
    UnknownOperator "unknown-operator": "an operator of Rust or Python that the language has not",
    UnknownOptimiser "unknown-optimiser": "no optimiser has that name",
    UnknownPattern "unknown-pattern": "a pattern of a `match` is no value, or has a condition",
    UnknownStruct "unknown-struct": "the macro declares no such struct",
    UnknownType "unknown-type": "no element type has that name",
    UnknownVariable "unknown-variable": "no variable, constant or dimension has that name",
    UnusedDerivative "unused-derivative": "a function is differentiated by a value that it does not use",
    UnusedField "unused-field": "a field takes part in no function",
    UnusedForeign "unused-foreign": "nothing calls a foreign function",
    UnusedImport "unused-import": "an imported block is named nowhere",
    UnusedStruct "unused-struct": "a struct is neither a model nor a block of one",
    WrongArity "wrong-arity": "a call gives another number of arguments than the declaration asks for",
    WrongAttribute "wrong-attribute": "an attribute's value is not one that the op or layer accepts",
    WrongDimension "wrong-dimension": "an extent differs from the one that is asked for",
    WrongDtype "wrong-dtype": "an op or function is not defined for the element type",
    WrongFeatures "wrong-features": "a layer is declared for another number of features or channels than it gets",
    WrongRank "wrong-rank": "the value has another number of dimensions than is asked for",
    WrongResult "wrong-result": "the body gives another type than the signature declares",
}

impl Display for Code {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_distinct() {
        assert!(Code::ALL.windows(2).all(|two| two[0].name() < two[1].name()));
    }
}

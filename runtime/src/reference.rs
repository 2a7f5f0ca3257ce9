//! What the names of the model language mean: an item for each layer and function, which editors show where `model!` names
//! it. Nothing here is to be called.
//!
//! The file is generated from the declarations in the compiler; a test keeps it current.

/// Layers.
#[allow(non_upper_case_globals)]
pub mod layers {
    /// Normalises each channel of `[batch, channels]` or `[batch, channels, length]`, in training by the batch and elsewhere by running statistics, which steps of training update. In PyTorch `torch.nn.BatchNorm1d`. A call computes `batch_norm`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `channels` | an integer | required | channels of the argument |
    /// | `eps` | a number | `1e-5` | added to the variance |
    /// | `momentum` | a number or `None` | `0.1` | the weight of the batch in the new running statistics; with `None` they are the mean over all batches so far |
    /// | `affine` | `true` or `false` | `true` | whether a learnt scale and offset of each channel follow |
    /// | `track_running_stats` | `true` or `false` | `true` | whether there are running statistics; where there are none, mean and variance are always the batch's |
    ///
    /// Example: with `layer: BatchNorm1d(8)`, `self.layer(x)` of `x: f32[B, 8]` is `f32[B, 8]`. Its parameters: `layer.running_mean: f32[8]`, `layer.running_var: f32[8]`, `layer.weight: f32[8]`, `layer.bias: f32[8]`.
    pub struct BatchNorm1d;

    /// Normalises each channel of `[batch, channels, height, width]`, in training by the batch and elsewhere by running statistics, which steps of training update. In PyTorch `torch.nn.BatchNorm2d`. A call computes `batch_norm`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `channels` | an integer | required | channels of the argument |
    /// | `eps` | a number | `1e-5` | added to the variance |
    /// | `momentum` | a number or `None` | `0.1` | the weight of the batch in the new running statistics; with `None` they are the mean over all batches so far |
    /// | `affine` | `true` or `false` | `true` | whether a learnt scale and offset of each channel follow |
    /// | `track_running_stats` | `true` or `false` | `true` | whether there are running statistics; where there are none, mean and variance are always the batch's |
    ///
    /// Example: with `layer: BatchNorm2d(8)`, `self.layer(x)` of `x: f32[B, 8, 6, 5]` is `f32[B, 8, 6, 5]`. Its parameters: `layer.running_mean: f32[8]`, `layer.running_var: f32[8]`, `layer.weight: f32[8]`, `layer.bias: f32[8]`.
    pub struct BatchNorm2d;

    /// A learnt convolution over the length of `[batch, channels, length]`. In PyTorch `torch.nn.Conv1d`. A call computes `conv1d`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `input` | an integer | required | channels of the argument |
    /// | `output` | an integer | required | channels of the result |
    /// | `kernel` | integers, one for each axis or one for all | required | length of the window |
    /// | `stride` | integers, one for each axis or one for all | `1` | from one window to the next, one number for each spatial axis or one for all |
    /// | `padding` | integers, one for each axis or one for all, or `"same"`, `"causal"` | `0` | zeros on both sides; "same" keeps the length (stride 1), and with "causal" all stand before, so that nothing is seen that comes later |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    /// | `groups` | an integer | `1` | parts of the channels that do not see each other |
    /// | `bias` | `true` or `false` | `true` | whether a learnt offset is added to each channel |
    /// | `init` | an initialiser |  | how the weight starts; as in PyTorch where absent |
    /// | `bias_init` | an initialiser |  | how the bias starts; as in PyTorch where absent |
    ///
    /// Example: with `layer: Conv1d(4, 8, kernel = 3, padding = 1)`, `self.layer(x)` of `x: f32[B, 4, 16]` is `f32[B, 8, 16]`. Its parameters: `layer.weight: f32[8, 4, 3]`, `layer.bias: f32[8]`.
    pub struct Conv1d;

    /// A learnt convolution over height and width of `[batch, channels, height, width]`. In PyTorch `torch.nn.Conv2d`. A call computes `conv2d`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `input` | an integer | required | channels of the argument |
    /// | `output` | an integer | required | channels of the result |
    /// | `kernel` | integers, one for each axis or one for all | required | height and width of the window |
    /// | `stride` | integers, one for each axis or one for all | `1` | from one window to the next, one number for each spatial axis or one for all |
    /// | `padding` | integers, one for each axis or one for all, or `"same"` | `0` | zeros on both sides of each spatial axis; "same" keeps the extents (stride 1) |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    /// | `groups` | an integer | `1` | parts of the channels that do not see each other |
    /// | `bias` | `true` or `false` | `true` | whether a learnt offset is added to each channel |
    /// | `init` | an initialiser |  | how the weight starts; as in PyTorch where absent |
    /// | `bias_init` | an initialiser |  | how the bias starts; as in PyTorch where absent |
    ///
    /// Example: with `layer: Conv2d(3, 8, kernel = 3, stride = 2, padding = 1)`, `self.layer(x)` of `x: f32[B, 3, 16, 16]` is `f32[B, 8, 8, 8]`. Its parameters: `layer.weight: f32[8, 3, 3, 3]`, `layer.bias: f32[8]`.
    pub struct Conv2d;

    /// A learnt transposed convolution over the length of `[batch, channels, length]`. In PyTorch `torch.nn.ConvTranspose1d`. A call computes `conv_transpose1d`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `input` | an integer | required | channels of the argument |
    /// | `output` | an integer | required | channels of the result |
    /// | `kernel` | integers, one for each axis or one for all | required | length of the window |
    /// | `stride` | integers, one for each axis or one for all | `1` | between the places of neighbouring elements in the result |
    /// | `padding` | integers, one for each axis or one for all | `0` | elements cut from both ends of each spatial axis of the result |
    /// | `output_padding` | integers, one for each axis or one for all | `0` | elements more at the end of each spatial axis of the result, less than its stride or its dilation |
    /// | `groups` | an integer | `1` | parts of the channels that do not see each other |
    /// | `bias` | `true` or `false` | `true` | whether a learnt offset is added to each channel |
    /// | `init` | an initialiser |  | how the weight starts; as in PyTorch where absent |
    /// | `bias_init` | an initialiser |  | how the bias starts; as in PyTorch where absent |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    ///
    /// Example: with `layer: ConvTranspose1d(4, 8, kernel = 2, stride = 2)`, `self.layer(x)` of `x: f32[B, 4, 16]` is `f32[B, 8, 32]`. Its parameters: `layer.weight: f32[4, 8, 2]`, `layer.bias: f32[8]`.
    pub struct ConvTranspose1d;

    /// A learnt transposed convolution over height and width of `[batch, channels, height, width]`. In PyTorch `torch.nn.ConvTranspose2d`. A call computes `conv_transpose2d`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `input` | an integer | required | channels of the argument |
    /// | `output` | an integer | required | channels of the result |
    /// | `kernel` | integers, one for each axis or one for all | required | height and width of the window |
    /// | `stride` | integers, one for each axis or one for all | `1` | between the places of neighbouring elements in the result |
    /// | `padding` | integers, one for each axis or one for all | `0` | elements cut from both ends of each spatial axis of the result |
    /// | `output_padding` | integers, one for each axis or one for all | `0` | elements more at the end of each spatial axis of the result, less than its stride or its dilation |
    /// | `groups` | an integer | `1` | parts of the channels that do not see each other |
    /// | `bias` | `true` or `false` | `true` | whether a learnt offset is added to each channel |
    /// | `init` | an initialiser |  | how the weight starts; as in PyTorch where absent |
    /// | `bias_init` | an initialiser |  | how the bias starts; as in PyTorch where absent |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    ///
    /// Example: with `layer: ConvTranspose2d(4, 8, kernel = 2, stride = 2)`, `self.layer(x)` of `x: f32[B, 4, 6, 5]` is `f32[B, 8, 12, 10]`. Its parameters: `layer.weight: f32[4, 8, 2, 2]`, `layer.bias: f32[8]`.
    pub struct ConvTranspose2d;

    /// Drops elements at random in training. In PyTorch `torch.nn.Dropout`. A call computes `dropout`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `p` | a number | `0.5` | the probability of a zero, from 0 to 1 |
    ///
    /// Example: with `layer: Dropout(0.1)`, `self.layer(x)` of `x: f32[B, 8]` is `f32[B, 8]`.
    pub struct Dropout;

    /// A table of learnt vectors, looked up by index; it starts standard normal, as PyTorch's. In PyTorch `torch.nn.Embedding`. A call computes `embedding`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `count` | an integer | required | rows of the table: indices are below it |
    /// | `dim` | an integer | required | features of a row |
    /// | `init` | an initialiser |  | how the weight starts; as in PyTorch where absent |
    ///
    /// Example: with `layer: Embedding(1000, 64)`, `self.layer(ids)` of `ids: u32[B, T]` is `f32[B, T, 64]`. Its parameters: `layer.weight: f32[1000, 64]`.
    pub struct Embedding;

    /// Gated recurrent units: `let (y, h) = self.gru(x)`, or `self.gru(x, h)` from a state. Parameters have PyTorch's names, order of gates and initial values. In PyTorch `torch.nn.GRU`. A call computes `gru`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `input` | an integer | required | features of the argument |
    /// | `hidden` | an integer | required | features of the state |
    /// | `layers` | an integer | `1` | layers, each over the output of the one before |
    /// | `bidirectional` | `true` or `false` | `false` | whether a second state runs backwards in time |
    /// | `bias` | `true` or `false` | `true` | whether learnt offsets are added |
    /// | `dropout` | a number | `0.0` | the probability with which elements between layers are zero in training, from 0 to 1 |
    ///
    /// Example: with `layer: GRU(4, 8)`, `self.layer(x)` of `x: f32[B, T, 4]` is `(f32[B, T, 8], f32[1, B, 8])`. Its parameters: `layer.weight_ih_l0: f32[24, 4]`, `layer.weight_hh_l0: f32[24, 8]`, `layer.bias_ih_l0: f32[24]`, `layer.bias_hh_l0: f32[24]`.
    pub struct GRU;

    /// Normalises each group of channels to mean 0 and variance 1, then scales and shifts each channel by learnt numbers. In PyTorch `torch.nn.GroupNorm`. A call computes `group_norm`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `groups` | an integer | required | how many groups the channels make |
    /// | `channels` | an integer | required | channels of the argument |
    /// | `eps` | a number | `1e-5` | added to the variance |
    /// | `affine` | `true` or `false` | `true` | whether a learnt scale and offset of each channel follow |
    ///
    /// Example: with `layer: GroupNorm(2, 8)`, `self.layer(x)` of `x: f32[B, 8, 6, 5]` is `f32[B, 8, 6, 5]`. Its parameters: `layer.weight: f32[8]`, `layer.bias: f32[8]`.
    pub struct GroupNorm;

    /// Normalises each channel of `[batch, channels, length]` by itself; `affine = true` scales and shifts it by learnt numbers. In PyTorch `torch.nn.InstanceNorm1d`. A call computes `instance_norm`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `channels` | an integer | required | channels of the argument |
    /// | `eps` | a number | `1e-5` | added to the variance |
    /// | `affine` | `true` or `false` | `false` | whether a learnt scale and offset of each channel follow |
    ///
    /// Example: with `layer: InstanceNorm1d(8, affine = true)`, `self.layer(x)` of `x: f32[B, 8, 16]` is `f32[B, 8, 16]`. Its parameters: `layer.weight: f32[8]`, `layer.bias: f32[8]`.
    pub struct InstanceNorm1d;

    /// Normalises each channel of `[batch, channels, height, width]` by itself; `affine = true` scales and shifts it by learnt numbers. In PyTorch `torch.nn.InstanceNorm2d`. A call computes `instance_norm`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `channels` | an integer | required | channels of the argument |
    /// | `eps` | a number | `1e-5` | added to the variance |
    /// | `affine` | `true` or `false` | `false` | whether a learnt scale and offset of each channel follow |
    ///
    /// Example: with `layer: InstanceNorm2d(8, affine = true)`, `self.layer(x)` of `x: f32[B, 8, 6, 5]` is `f32[B, 8, 6, 5]`. Its parameters: `layer.weight: f32[8]`, `layer.bias: f32[8]`.
    pub struct InstanceNorm2d;

    /// Long short-term memory: `let (y, h, c) = self.lstm(x)`, or `self.lstm(x, h, c)` from a state. Parameters have PyTorch's names, order of gates and initial values. In PyTorch `torch.nn.LSTM`. A call computes `lstm`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `input` | an integer | required | features of the argument |
    /// | `hidden` | an integer | required | features of the state |
    /// | `layers` | an integer | `1` | layers, each over the output of the one before |
    /// | `bidirectional` | `true` or `false` | `false` | whether a second state runs backwards in time |
    /// | `bias` | `true` or `false` | `true` | whether learnt offsets are added |
    /// | `dropout` | a number | `0.0` | the probability with which elements between layers are zero in training, from 0 to 1 |
    ///
    /// Example: with `layer: LSTM(4, 8, layers = 2)`, `self.layer(x)` of `x: f32[B, T, 4]` is `(f32[B, T, 8], f32[2, B, 8], f32[2, B, 8])`. Its parameters: `layer.weight_ih_l0: f32[32, 4]`, `layer.weight_hh_l0: f32[32, 8]`, `layer.bias_ih_l0: f32[32]`, `layer.bias_hh_l0: f32[32]`, `layer.weight_ih_l1: f32[32, 8]`, `layer.weight_hh_l1: f32[32, 8]`, `layer.bias_ih_l1: f32[32]`, `layer.bias_hh_l1: f32[32]`.
    pub struct LSTM;

    /// Normalises the last axis to mean 0 and variance 1, then scales and shifts it by learnt numbers. In PyTorch `torch.nn.LayerNorm`. A call computes `layer_norm`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `dim` | an integer | required | features of the argument's last axis |
    /// | `eps` | a number | `1e-5` | added to the variance |
    /// | `elementwise_affine` | `true` or `false` | `true` | whether a learnt scale (and offset) follows |
    /// | `bias` | `true` or `false` | `true` | whether the learnt part has an offset |
    ///
    /// Example: with `layer: LayerNorm(64)`, `self.layer(x)` of `x: f32[B, T, 64]` is `f32[B, T, 64]`. Its parameters: `layer.weight: f32[64]`, `layer.bias: f32[64]`.
    pub struct LayerNorm;

    /// A fully connected layer: `x · weightᵀ + bias` over the last axis. In PyTorch `torch.nn.Linear`. A call computes `linear`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `input` | an integer | required | features of the argument |
    /// | `output` | an integer | required | features of the result |
    /// | `bias` | `true` or `false` | `true` | whether a learnt offset is added |
    /// | `init` | an initialiser |  | how the weight starts; as in PyTorch where absent |
    /// | `bias_init` | an initialiser |  | how the bias starts; as in PyTorch where absent |
    ///
    /// Example: with `layer: Linear(784, 10)`, `self.layer(x)` of `x: f32[B, 784]` is `f32[B, 10]`. Its parameters: `layer.weight: f32[10, 784]`, `layer.bias: f32[10]`.
    pub struct Linear;

    /// A rectifier whose slope below zero is learnt. In PyTorch `torch.nn.PReLU`. A call computes `prelu`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `num_parameters` | an integer | `1` | slopes: one for all, or one for each channel (axis 1) |
    /// | `init` | a number | `0.25` | the slope at first |
    ///
    /// Example: with `layer: PReLU(8)`, `self.layer(x)` of `x: f32[B, 8]` is `f32[B, 8]`. Its parameters: `layer.weight: f32[8]`.
    pub struct PReLU;

    /// A tensor that training changes; `self.field` is its value. It is saved under the field's own name. In PyTorch `torch.nn.Parameter`. A call computes `identity`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | its extents |
    /// | `init` | an initialiser | `"normal"` | how it starts |
    ///
    /// Example: with `layer: Parameter([4, 8], init = "zeros")`, `matmul(x, self.layer)` of `x: f32[B, 4]` is `f32[B, 8]`. Its parameters: `layer: f32[4, 8]`.
    pub struct Parameter;

    /// Divides the last axis by its root mean square and scales it by learnt numbers. In PyTorch `torch.nn.RMSNorm`. A call computes `rms_norm`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `dim` | an integer | required | features of the argument's last axis |
    /// | `eps` | a number |  | added to the mean square; where it is not given, the machine epsilon of the type, as PyTorch's |
    /// | `elementwise_affine` | `true` or `false` | `true` | whether a learnt scale follows |
    ///
    /// Example: with `layer: RMSNorm(64)`, `self.layer(x)` of `x: f32[B, T, 64]` is `f32[B, T, 64]`. Its parameters: `layer.weight: f32[64]`.
    pub struct RMSNorm;

    /// A recurrent layer: `let (y, h) = self.rnn(x)`, or `self.rnn(x, h)` from a state. Parameters have PyTorch's names and initial values. In PyTorch `torch.nn.RNN`. A call computes `rnn`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `input` | an integer | required | features of the argument |
    /// | `hidden` | an integer | required | features of the state |
    /// | `layers` | an integer | `1` | layers, each over the output of the one before |
    /// | `bidirectional` | `true` or `false` | `false` | whether a second state runs backwards in time |
    /// | `bias` | `true` or `false` | `true` | whether learnt offsets are added |
    /// | `dropout` | a number | `0.0` | the probability with which elements between layers are zero in training, from 0 to 1 |
    ///
    /// Example: with `layer: RNN(4, 8)`, `self.layer(x)` of `x: f32[B, T, 4]` is `(f32[B, T, 8], f32[1, B, 8])`. Its parameters: `layer.weight_ih_l0: f32[8, 4]`, `layer.weight_hh_l0: f32[8, 8]`, `layer.bias_ih_l0: f32[8]`, `layer.bias_hh_l0: f32[8]`.
    pub struct RNN;

    /// A fully connected layer whose weight is `[input, output]`, as in GPT-2's files: `x · weight + bias` over the last axis. In PyTorch `transformers.pytorch_utils.Conv1D`. A call computes `transposed_linear`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `input` | an integer | required | features of the argument |
    /// | `output` | an integer | required | features of the result |
    /// | `bias` | `true` or `false` | `true` | whether a learnt offset is added |
    /// | `init` | an initialiser |  | how the weight starts; as in PyTorch where absent |
    /// | `bias_init` | an initialiser |  | how the bias starts; as in PyTorch where absent |
    ///
    /// Example: with `layer: TransposedLinear(64, 192)`, `self.layer(x)` of `x: f32[B, T, 64]` is `f32[B, T, 192]`. Its parameters: `layer.weight: f32[64, 192]`, `layer.bias: f32[192]`.
    pub struct TransposedLinear;
}

/// Functions.
#[allow(non_upper_case_globals)]
pub mod functions {
    /// ```text
    /// abs(x: signed[..]) -> signed[..]
    /// ```
    ///
    /// The absolute value `|x|`; its derivative at 0 is 0.
    ///
    /// In PyTorch `torch.abs`, in ONNX `Abs`.
    ///
    /// Example: `abs(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const abs: &str = "abs(x: signed[..]) -> signed[..]";

    /// ```text
    /// acos(x: float[..]) -> float[..]
    /// ```
    ///
    /// The angle in radians, from 0 to π, whose cosine is `x`; NaN outside of −1 to 1, as is its derivative at their ends.
    ///
    /// In PyTorch `torch.acos`, in ONNX `Acos`.
    ///
    /// Example: `acos(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const acos: &str = "acos(x: float[..]) -> float[..]";

    /// ```text
    /// adaptive_avg_pool1d(x: float[.., Length]) -> float[.., _]
    /// ```
    ///
    /// The means of `output_size` cells that cover the last axis: cell `i` of `n` has the elements from `⌊i · extent / n⌋` up to `⌈(i + 1) · extent / n⌉`.
    ///
    /// In PyTorch `torch.nn.functional.adaptive_avg_pool1d`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `output_size` | integers, one for each axis or one for all | required | the extents of the result, one number for each spatial axis or one for all |
    ///
    /// Example: `adaptive_avg_pool1d(x, 3)` of `x: f32[2, 3, 9]` is `f32[2, 3, 3]`.
    pub const adaptive_avg_pool1d: &str = "adaptive_avg_pool1d(x: float[.., Length]) -> float[.., _]";

    /// ```text
    /// adaptive_avg_pool2d(x: float[.., Height, Width]) -> float[.., _, _]
    /// ```
    ///
    /// The means of `output_size` cells that cover the last two axes, each as `adaptive_avg_pool1d` has them.
    ///
    /// In PyTorch `torch.nn.functional.adaptive_avg_pool2d`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `output_size` | integers, one for each axis or one for all | required | the extents of the result, one number for each spatial axis or one for all |
    ///
    /// Example: `adaptive_avg_pool2d(x, [4, 2])` of `x: f32[2, 3, 8, 6]` is `f32[2, 3, 4, 2]`.
    pub const adaptive_avg_pool2d: &str = "adaptive_avg_pool2d(x: float[.., Height, Width]) -> float[.., _, _]";

    /// ```text
    /// adaptive_max_pool1d(x: float[.., Length]) -> float[.., _]
    /// ```
    ///
    /// The largest elements of `output_size` cells that cover the last axis, each as `adaptive_avg_pool1d` has them. The gradient goes to the first largest.
    ///
    /// In PyTorch `torch.nn.functional.adaptive_max_pool1d`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `output_size` | integers, one for each axis or one for all | required | the extents of the result, one number for each spatial axis or one for all |
    ///
    /// Example: `adaptive_max_pool1d(x, 3)` of `x: f32[2, 3, 7]` is `f32[2, 3, 3]`.
    pub const adaptive_max_pool1d: &str = "adaptive_max_pool1d(x: float[.., Length]) -> float[.., _]";

    /// ```text
    /// adaptive_max_pool2d(x: float[.., Height, Width]) -> float[.., _, _]
    /// ```
    ///
    /// The largest elements of `output_size` cells that cover the last two axes, each as `adaptive_avg_pool1d` has them. The gradient goes to the first largest.
    ///
    /// In PyTorch `torch.nn.functional.adaptive_max_pool2d`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `output_size` | integers, one for each axis or one for all | required | the extents of the result, one number for each spatial axis or one for all |
    ///
    /// Example: `adaptive_max_pool2d(x, [3, 5])` of `x: f32[B, 3, 7, 5]` is `f32[B, 3, 3, 5]`.
    pub const adaptive_max_pool2d: &str = "adaptive_max_pool2d(x: float[.., Height, Width]) -> float[.., _, _]";

    /// ```text
    /// add(a: number[...], b: number[...]) -> number[...]
    /// ```
    ///
    /// The sum `a + b`.
    ///
    /// In PyTorch `torch.add`, in ONNX `Add`.
    ///
    /// Example: `add(a, b)` of `a: f32[5, 7]`, `b: f32[5, 7]` is `f32[5, 7]`.
    pub const add: &str = "add(a: number[...], b: number[...]) -> number[...]";

    /// ```text
    /// all(x: bool[..]) -> bool[...]
    /// ```
    ///
    /// Whether every element over the axes holds.
    ///
    /// In PyTorch `torch.all`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `all(x, axis = 1)` of `x: bool[5, 3, 17]` is `bool[5, 17]`.
    pub const all: &str = "all(x: bool[..]) -> bool[...]";

    /// ```text
    /// any(x: bool[..]) -> bool[...]
    /// ```
    ///
    /// Whether any element over the axes holds.
    ///
    /// In PyTorch `torch.any`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `any(x, axis = 1)` of `x: bool[5, 3, 17]` is `bool[5, 17]`.
    pub const any: &str = "any(x: bool[..]) -> bool[...]";

    /// ```text
    /// arange() -> float[_]
    /// ```
    ///
    /// `start`, `start + step` … before `end`, as floats, and `arange(end)` from 0, as PyTorch's; `iota(n)` counts in integers.
    ///
    /// In PyTorch `torch.arange`, in ONNX `Range`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `start` | an extent |  | the first number; where it is the only one, the end instead |
    /// | `end` | an extent |  | the numbers stay before it |
    /// | `step` | an integer | `1` | from one number to the next; positive |
    ///
    /// Example: `add(x, arange(-2, 9, step = 3))` of `x: f32[4]` is `f32[4]`.
    pub const arange: &str = "arange() -> float[_]";

    /// ```text
    /// argmax(x: number[..]) -> u32[...]
    /// ```
    ///
    /// The position of the first largest element along the axis.
    ///
    /// In PyTorch `torch.argmax`, in ONNX `ArgMax`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer |  | the searched axis; where absent, all elements in row-major order |
    /// | `keepdims` | `true` or `false` | `false` | whether the searched axis stays with extent 1 |
    ///
    /// Example: `argmax(x, axis = 1)` of `x: f32[5, 7, 17]` is `u32[5, 17]`.
    pub const argmax: &str = "argmax(x: number[..]) -> u32[...]";

    /// ```text
    /// argmin(x: number[..]) -> u32[...]
    /// ```
    ///
    /// The position of the first smallest element along the axis.
    ///
    /// In PyTorch `torch.argmin`, in ONNX `ArgMin`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer |  | the searched axis; where absent, all elements in row-major order |
    /// | `keepdims` | `true` or `false` | `false` | whether the searched axis stays with extent 1 |
    ///
    /// Example: `argmin(x, axis = 1)` of `x: f32[5, 7, 17]` is `u32[5, 17]`.
    pub const argmin: &str = "argmin(x: number[..]) -> u32[...]";

    /// ```text
    /// argsort(x: number[..]) -> u32[..]
    /// ```
    ///
    /// The positions of the elements in ascending order; equal ones keep their order, and NaN counts as larger than all numbers.
    ///
    /// In PyTorch `torch.argsort`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis that is ordered; negative counts from the end |
    /// | `descending` | `true` or `false` | `false` | whether the largest element comes first |
    ///
    /// Example: `argsort(x)` of `x: f32[5, 7]` is `u32[5, 7]`.
    pub const argsort: &str = "argsort(x: number[..]) -> u32[..]";

    /// ```text
    /// asin(x: float[..]) -> float[..]
    /// ```
    ///
    /// The angle in radians, from −π/2 to π/2, whose sine is `x`; NaN outside of −1 to 1, as is its derivative at their ends.
    ///
    /// In PyTorch `torch.asin`, in ONNX `Asin`.
    ///
    /// Example: `asin(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const asin: &str = "asin(x: float[..]) -> float[..]";

    /// ```text
    /// atan(x: float[..]) -> float[..]
    /// ```
    ///
    /// The angle in radians, from −π/2 to π/2, whose tangent is `x`.
    ///
    /// In PyTorch `torch.atan`, in ONNX `Atan`.
    ///
    /// Example: `atan(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const atan: &str = "atan(x: float[..]) -> float[..]";

    /// ```text
    /// attend(q: float[...], k: float[...], v: float[...], mask: each[...]?, key: u32[2]!) -> float[...]
    /// ```
    ///
    /// Scaled dot-product attention, `softmax(scale · q·kᵀ + mask) · v` (Vaswani et al. 2017), as PyTorch's `scaled_dot_product_attention`: `q[.., H, T, d]`, `k[.., G, S, d]` and `v[.., G, S, e]` give `[.., H, T, e]`, and a `q` with an axis less is one query. Fewer heads of keys and values than of queries are shared by groups of neighbours. A bool mask is true where a query may attend, a float mask is added; it broadcasts over batch, heads, queries or keys, so that one of `[B, 1, 1, S]` hides padding. A query that sees no key gives zeros. The scores are never stored (Dao et al. 2022): memory grows with `T + S`, but for what is dropped in training or with a key, `attend(q, k, v, dropout = 0.1, key = key)`.
    ///
    /// In PyTorch `torch.nn.functional.scaled_dot_product_attention`, in ONNX `Attention`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `causal` | `true`, `false` or `"lower_right"` | `false` | whether query `t` sees only keys `0..=t`; with "lower_right", `0..=t + S - T`, as where the first keys are of positions before those of the queries |
    /// | `scale` | a number |  | the factor of the scores; `1/√d` where it is not given |
    /// | `dropout` | a number | `0.0` | the probability with which a weight of the softmax is dropped, from 0 to 1 |
    ///
    /// Example: `attend(q, k, v)` of `q: f32[2, 3, 5, 7]`, `k: f32[2, 3, 9, 7]`, `v: f32[2, 3, 9, 4]` is `f32[2, 3, 5, 4]`.
    pub const attend: &str = "attend(q: float[...], k: float[...], v: float[...], mask: each[...]?, key: u32[2]!) -> float[...]";

    /// ```text
    /// avg_pool1d(x: float[.., Length]) -> float[...]
    /// ```
    ///
    /// The mean of each window over the last axis.
    ///
    /// In PyTorch `torch.nn.functional.avg_pool1d`, in ONNX `AveragePool`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `window` | integers, one for each axis or one for all | required | length of the window |
    /// | `stride` | integers, one for each axis or one for all |  | from one window to the next; where absent, the window itself |
    /// | `padding` | integers, one for each axis or one for all | `0` | elements assumed around each spatial axis |
    /// | `ceil_mode` | `true` or `false` | `false` | whether a last window that begins inside of the padded axis, but does not end there, counts |
    /// | `count_include_pad` | `true` or `false` | `true` | whether the padding counts as zeros |
    ///
    /// Example: `avg_pool1d(x, 2)` of `x: f32[2, 3, 9]` is `f32[2, 3, 4]`.
    pub const avg_pool1d: &str = "avg_pool1d(x: float[.., Length]) -> float[...]";

    /// ```text
    /// avg_pool2d(x: float[.., Height, Width]) -> float[...]
    /// ```
    ///
    /// The mean of each window over the last two axes.
    ///
    /// In PyTorch `torch.nn.functional.avg_pool2d`, in ONNX `AveragePool`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `window` | integers, one for each axis or one for all | required | height and width of the window |
    /// | `stride` | integers, one for each axis or one for all |  | from one window to the next; where absent, the window itself |
    /// | `padding` | integers, one for each axis or one for all | `0` | elements assumed around each spatial axis |
    /// | `ceil_mode` | `true` or `false` | `false` | whether a last window that begins inside of the padded axis, but does not end there, counts |
    /// | `count_include_pad` | `true` or `false` | `true` | whether the padding counts as zeros |
    ///
    /// Example: `avg_pool2d(x, window = 2)` of `x: f32[2, 3, 8, 6]` is `f32[2, 3, 4, 3]`.
    pub const avg_pool2d: &str = "avg_pool2d(x: float[.., Height, Width]) -> float[...]";

    /// ```text
    /// batch_norm(x: float[Batch, Channels, ..], running_mean: float[Channels]?, running_var: float[Channels]?, weight: float[Channels]?, bias: float[Channels]?, num_batches_tracked: float[]!) -> float*
    /// ```
    ///
    /// `(x − mean) / √(variance + eps) · weight + bias` for each channel (Ioffe and Szegedy 2015). In training mean and population variance are those over all axes but the channels', and `(1 − momentum) · running + momentum · batch` are the second and third result, where the batch's variance is the unbiased one. With `momentum = None` the batch weighs `1 / (num_batches_tracked + 1)`, and that count is the fourth result. With `track_running_stats = false` `weight` and `bias` follow `x`.
    ///
    /// In PyTorch `torch.nn.functional.batch_norm`, in ONNX `BatchNormalization`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `eps` | a number | `1e-5` | added to the variance |
    /// | `momentum` | a number or `None` | `0.1` | the weight of the batch in the new running statistics; with `None` they are the mean over all batches so far |
    /// | `training` | `true` or `false` | `false` | whether mean and variance are the batch's; the new running ones are then further results |
    /// | `track_running_stats` | `true` or `false` | `true` | whether there are running statistics; where there are none, mean and variance are always the batch's |
    ///
    /// Example: `batch_norm(x, m, v, w, c)` of `x: f32[B, 3, 5, 7]`, `m: f32[3]`, `v: f32[3]`, `w: f32[3]`, `c: f32[3]` is `f32[B, 3, 5, 7]`.
    pub const batch_norm: &str = "batch_norm(x: float[Batch, Channels, ..], running_mean: float[Channels]?, running_var: float[Channels]?, weight: float[Channels]?, bias: float[Channels]?, num_batches_tracked: float[]!) -> float*";

    /// ```text
    /// bernoulli(key: u32[2]?) -> bool[...]
    /// ```
    ///
    /// Truth values that hold with probability `p`. For probabilities that are computed compare: `uniform(key, [B]) < p`.
    ///
    /// In PyTorch `torch.bernoulli`, in ONNX `Bernoulli`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | the extents of the result |
    /// | `p` | a number | `0.5` | the probability of true, from 0 to 1 |
    ///
    /// Example: `bernoulli(k, [5, 7])` of `k: u32[2]` is `bool[5, 7]`.
    pub const bernoulli: &str = "bernoulli(key: u32[2]?) -> bool[...]";

    /// ```text
    /// bf16(x: any[..]) -> bf16[..]
    /// ```
    ///
    /// The same as `cast(x, "bf16")`.
    ///
    /// Example: `bf16(x)` of `x: u32[5, 7]` is `bf16[5, 7]`.
    pub const bf16: &str = "bf16(x: any[..]) -> bf16[..]";

    /// ```text
    /// binary_cross_entropy(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// `−target · ln input − (1 − target) · ln(1 − input)` of probabilities; the logarithms are at least −100, as in PyTorch. `binary_cross_entropy_with_logits` keeps more digits.
    ///
    /// In PyTorch `torch.nn.functional.binary_cross_entropy`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    ///
    /// Example: `binary_cross_entropy(x, y, reduction = "none")` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5, 7]`.
    pub const binary_cross_entropy: &str = "binary_cross_entropy(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// binary_cross_entropy_with_logits(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// `−target · ln σ(input) − (1 − target) · ln(1 − σ(input))` with probabilities `target`, computed as `softplus(input) − input · target`, which does not overflow.
    ///
    /// In PyTorch `torch.nn.functional.binary_cross_entropy_with_logits`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    ///
    /// Example: `binary_cross_entropy_with_logits(x, y, reduction = "none")` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5, 7]`.
    pub const binary_cross_entropy_with_logits: &str = "binary_cross_entropy_with_logits(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// bool(x: any[..]) -> bool[..]
    /// ```
    ///
    /// The same as `cast(x, "bool")`.
    ///
    /// Example: `bool(x)` of `x: u32[5, 7]` is `bool[5, 7]`.
    pub const bool: &str = "bool(x: any[..]) -> bool[..]";

    /// ```text
    /// broadcast_to(x: any[...]) -> any[...]
    /// ```
    ///
    /// Repeats along missing leading axes and axes of extent 1, as NumPy does.
    ///
    /// In PyTorch `torch.broadcast_to`, in ONNX `Expand`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | the extents of the result |
    ///
    /// Example: `broadcast_to(x, [5, 7])` of `x: f32[7]` is `f32[5, 7]`.
    pub const broadcast_to: &str = "broadcast_to(x: any[...]) -> any[...]";

    /// ```text
    /// cast(x: any[..]) -> *
    /// ```
    ///
    /// To another element type. Floats truncate and saturate to integers (NaN gives 0), truth is 1 or 0, and a number is true where it is not 0.
    ///
    /// In PyTorch `torch.Tensor.to`, in ONNX `Cast`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `dtype` | `"f32"`, `"f64"`, `"f16"`, `"bf16"`, `"f8e4m3"`, `"i8"`, `"u8"`, `"i16"`, `"u16"`, `"i32"`, `"u32"`, `"i64"`, `"u64"`, `"bool"` | required | the element type of the result |
    ///
    /// Example: `cast(x, "i32")` of `x: f32[5, 7]` is `i32[5, 7]`.
    pub const cast: &str = "cast(x: any[..]) -> *";

    /// ```text
    /// categorical(logits: float[.., Classes], key: u32[2]!) -> u32[..]
    /// ```
    ///
    /// A class id for each row, drawn with the probabilities `softmax(logits)`, by the largest of `logits − log(−log u)` with uniform `u` (Gumbel 1954). Logits of −∞ are never drawn where another is finite. The same key gives the same ids on every device; in training it may be left out, and each step draws others.
    ///
    /// In PyTorch `torch.distributions.Categorical`, in ONNX `Multinomial`.
    ///
    /// Example: `categorical(x, key = k)` of `x: f32[5, 7]`, `k: u32[2]` is `u32[5]`.
    pub const categorical: &str = "categorical(logits: float[.., Classes], key: u32[2]!) -> u32[..]";

    /// ```text
    /// cdist(a: float[.., N, Features], b: float[.., M, Features]) -> float[.., N, M]
    /// ```
    ///
    /// The distance of each vector of `a` from each of `b`, `norm(a[.., i, :] − b[.., j, :], p)`.
    ///
    /// In PyTorch `torch.cdist`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `p` | a number | `2` | the exponent, at least 1 |
    ///
    /// Example: `cdist(x, y)` of `x: f32[5, 3]`, `y: f32[7, 3]` is `f32[5, 7]`.
    pub const cdist: &str = "cdist(a: float[.., N, Features], b: float[.., M, Features]) -> float[.., N, M]";

    /// ```text
    /// ceil(x: float[..]) -> float[..]
    /// ```
    ///
    /// Rounded towards +∞; its derivative is 0.
    ///
    /// In PyTorch `torch.ceil`, in ONNX `Ceil`.
    ///
    /// Example: `ceil(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const ceil: &str = "ceil(x: float[..]) -> float[..]";

    /// ```text
    /// celu(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x` above zero and `alpha · (e^(x/alpha) − 1)` elsewhere, whose derivative at 0 is 1 for every alpha (Barron 2017).
    ///
    /// In PyTorch `torch.nn.functional.celu`, in ONNX `Celu`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `alpha` | a number | `1` | the negative of the limit at −∞; not 0 |
    ///
    /// Example: `celu(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const celu: &str = "celu(x: float[..]) -> float[..]";

    /// ```text
    /// clamp(x: number[..]) -> number[..]
    /// ```
    ///
    /// `min(max(x, lower), upper)`; the derivative is 0 outside of the bounds.
    ///
    /// In PyTorch `torch.clamp`, in ONNX `Clip`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `min` | a number |  | the lower bound; none where absent |
    /// | `max` | a number |  | the upper bound; none where absent |
    ///
    /// Example: `clamp(x, min = -0.5, max = 0.75)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const clamp: &str = "clamp(x: number[..]) -> number[..]";

    /// ```text
    /// concat(x: any[...]*) -> any[...]
    /// ```
    ///
    /// Joins tensors along an axis; the other axes are equal.
    ///
    /// In PyTorch `torch.cat`, in ONNX `Concat`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | required | the axis that grows; negative counts from the end |
    ///
    /// Example: `concat(x, y, z, axis = 1)` of `x: f32[5, 7]`, `y: f32[5, 3]`, `z: f32[5, 1]` is `f32[5, 11]`.
    pub const concat: &str = "concat(x: any[...]*) -> any[...]";

    /// ```text
    /// conv1d(x: float[Batch, Channels, Length], weight: float[Outputs, _, _], bias: float[Outputs]?) -> float[Batch, Outputs, _]
    /// ```
    ///
    /// The cross-correlation `y[b, o, s] = Σ x[b, i, s · stride + k · dilation − padding] · weight[o, i, k] + bias[o]` over channels `i` of the output's group and kernel positions `k`, in PyTorch's layouts.
    ///
    /// In PyTorch `torch.nn.functional.conv1d`, in ONNX `Conv`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `stride` | integers, one for each axis or one for all | `1` | from one window to the next, one number for each spatial axis or one for all |
    /// | `padding` | integers, one for each axis or one for all, or `"same"`, `"causal"` | `0` | zeros on both sides; "same" keeps the length (stride 1), and with "causal" all stand before, so that nothing is seen that comes later |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    /// | `groups` | an integer | `1` | parts of the channels that do not see each other |
    ///
    /// Example: `conv1d(x, w, c, stride = 2, padding = 2)` of `x: f32[2, 3, 17]`, `w: f32[5, 3, 3]`, `c: f32[5]` is `f32[2, 5, 10]`.
    pub const conv1d: &str = "conv1d(x: float[Batch, Channels, Length], weight: float[Outputs, _, _], bias: float[Outputs]?) -> float[Batch, Outputs, _]";

    /// ```text
    /// conv2d(x: float[Batch, Channels, Height, Width], weight: float[Outputs, _, _, _], bias: float[Outputs]?) -> float[Batch, Outputs, _, _]
    /// ```
    ///
    /// The cross-correlation `y[b, o, s] = Σ x[b, i, s · stride + k · dilation − padding] · weight[o, i, k] + bias[o]` over channels `i` of the output's group and kernel positions `k`, in PyTorch's layouts. On a CPU, kernels of 3 × 3 over many channels run by minimal filtering (Winograd 1980; Lavin and Gray 2016): sums differ by some 1e-6 of the largest one, and an element that is infinite or NaN makes NaN of the sums of whole squares of 4 × 4 around it.
    ///
    /// In PyTorch `torch.nn.functional.conv2d`, in ONNX `Conv`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `stride` | integers, one for each axis or one for all | `1` | from one window to the next, one number for each spatial axis or one for all |
    /// | `padding` | integers, one for each axis or one for all, or `"same"` | `0` | zeros on both sides of each spatial axis; "same" keeps the extents (stride 1) |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    /// | `groups` | an integer | `1` | parts of the channels that do not see each other |
    ///
    /// Example: `conv2d(x, w, c, padding = 1)` of `x: f32[2, 3, 7, 5]`, `w: f32[5, 3, 3, 3]`, `c: f32[5]` is `f32[2, 5, 7, 5]`.
    pub const conv2d: &str = "conv2d(x: float[Batch, Channels, Height, Width], weight: float[Outputs, _, _, _], bias: float[Outputs]?) -> float[Batch, Outputs, _, _]";

    /// ```text
    /// conv_transpose1d(x: float[Batch, Channels, Length], weight: float[Channels, _, _], bias: float[Outputs]?) -> float[Batch, _, _]
    /// ```
    ///
    /// The transpose of `conv1d` as a map of its argument (Zeiler et al. 2010): `x[b, i, s] · weight[i, o, k]` is added to `y[b, o, s · stride + k · dilation − padding]`, then `bias[o]`. Each spatial extent becomes `(n − 1) · stride − 2 · padding + dilation · (kernel − 1) + output_padding + 1`.
    ///
    /// In PyTorch `torch.nn.functional.conv_transpose1d`, in ONNX `ConvTranspose`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `stride` | integers, one for each axis or one for all | `1` | between the places of neighbouring elements in the result |
    /// | `padding` | integers, one for each axis or one for all | `0` | elements cut from both ends of each spatial axis of the result |
    /// | `output_padding` | integers, one for each axis or one for all | `0` | elements more at the end of each spatial axis of the result, less than its stride or its dilation |
    /// | `groups` | an integer | `1` | parts of the channels that do not see each other |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    ///
    /// Example: `conv_transpose1d(x, w, c, stride = 2, padding = 1)` of `x: f32[2, 3, 7]`, `w: f32[3, 5, 4]`, `c: f32[5]` is `f32[2, 5, 14]`.
    pub const conv_transpose1d: &str = "conv_transpose1d(x: float[Batch, Channels, Length], weight: float[Channels, _, _], bias: float[Outputs]?) -> float[Batch, _, _]";

    /// ```text
    /// conv_transpose2d(x: float[Batch, Channels, Height, Width], weight: float[Channels, _, _, _], bias: float[Outputs]?) -> float[Batch, _, _, _]
    /// ```
    ///
    /// The transpose of `conv2d` as a map of its argument (Zeiler et al. 2010): `x[b, i, s] · weight[i, o, k]` is added to `y[b, o, s · stride + k · dilation − padding]`, then `bias[o]`. Each spatial extent becomes `(n − 1) · stride − 2 · padding + dilation · (kernel − 1) + output_padding + 1`.
    ///
    /// In PyTorch `torch.nn.functional.conv_transpose2d`, in ONNX `ConvTranspose`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `stride` | integers, one for each axis or one for all | `1` | between the places of neighbouring elements in the result |
    /// | `padding` | integers, one for each axis or one for all | `0` | elements cut from both ends of each spatial axis of the result |
    /// | `output_padding` | integers, one for each axis or one for all | `0` | elements more at the end of each spatial axis of the result, less than its stride or its dilation |
    /// | `groups` | an integer | `1` | parts of the channels that do not see each other |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    ///
    /// Example: `conv_transpose2d(x, w, c, stride = 2, padding = 1, output_padding = 1)` of `x: f32[2, 3, 5, 4]`, `w: f32[3, 5, 3, 3]`, `c: f32[5]` is `f32[2, 5, 10, 8]`.
    pub const conv_transpose2d: &str = "conv_transpose2d(x: float[Batch, Channels, Height, Width], weight: float[Channels, _, _, _], bias: float[Outputs]?) -> float[Batch, _, _, _]";

    /// ```text
    /// cos(x: float[..]) -> float[..]
    /// ```
    ///
    /// The cosine of `x` radians.
    ///
    /// In PyTorch `torch.cos`, in ONNX `Cos`.
    ///
    /// Example: `cos(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const cos: &str = "cos(x: float[..]) -> float[..]";

    /// ```text
    /// cosh(x: float[..]) -> float[..]
    /// ```
    ///
    /// The hyperbolic cosine `(eˣ + e⁻ˣ)/2`.
    ///
    /// In PyTorch `torch.cosh`, in ONNX `Cosh`.
    ///
    /// Example: `cosh(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const cosh: &str = "cosh(x: float[..]) -> float[..]";

    /// ```text
    /// cosine_embedding_loss(a: float[.., N], b: float[.., N], target: float[..]) -> float[...]
    /// ```
    ///
    /// `1 − cos` of the angle between vectors along the last axis where the target is 1, and `max(cos − margin, 0)` where it is −1.
    ///
    /// In PyTorch `torch.nn.functional.cosine_embedding_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `margin` | a number | `0` | the distance that is asked for |
    ///
    /// Example: `cosine_embedding_loss(x, y, sign(t), reduction = "none", margin = 0.1)` of `x: f32[5, 7]`, `y: f32[5, 7]`, `t: f32[5]` is `f32[5]`.
    pub const cosine_embedding_loss: &str = "cosine_embedding_loss(a: float[.., N], b: float[.., N], target: float[..]) -> float[...]";

    /// ```text
    /// cosine_similarity(a: float[..], b: float[..]) -> float[...]
    /// ```
    ///
    /// The cosine of the angle between vectors along an axis: `a · b / (max(|a|, eps) · max(|b|, eps))`.
    ///
    /// In PyTorch `torch.nn.functional.cosine_similarity`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis of the vectors; negative counts from the end |
    /// | `eps` | a number | `1e-8` | the least length that is divided by |
    ///
    /// Example: `cosine_similarity(x, y)` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5]`.
    pub const cosine_similarity: &str = "cosine_similarity(a: float[..], b: float[..]) -> float[...]";

    /// ```text
    /// count_nonzero(x: any[..]) -> u32[...]
    /// ```
    ///
    /// The number of elements over the axes that are not 0, or that hold.
    ///
    /// In PyTorch `torch.count_nonzero`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `count_nonzero(x, axis = 1)` of `x: u32[5, 7, 17]` is `u32[5, 17]`.
    pub const count_nonzero: &str = "count_nonzero(x: any[..]) -> u32[...]";

    /// ```text
    /// cross_entropy(logits: float[...], target: any[...], weight: float[_]?) -> float[...]
    /// ```
    ///
    /// `−Σ weight · target · log_softmax(logits)` over the classes; the target is a class id for each row (u32 or i32) or a probability for each class, and the weight, which may be left out, a number for each class. An id that is no class makes the loss NaN. The mean is over the rows, or for ids with weights over the sum of the weights of the rows.
    ///
    /// In PyTorch `torch.nn.functional.cross_entropy`, in ONNX `SoftmaxCrossEntropyLoss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `axis` | an integer | `-1` | the axis of the classes; negative counts from the end |
    /// | `label_smoothing` | a number | `0` | how much of each target is spread over all classes, from 0 to 1 |
    /// | `ignore_index` | an integer |  | a class id that does not take part, in the loss or in the mean |
    ///
    /// Example: `cross_entropy(x, y)` of `x: f32[5, 7]`, `y: u32[5]` is `f32`.
    pub const cross_entropy: &str = "cross_entropy(logits: float[...], target: any[...], weight: float[_]?) -> float[...]";

    /// ```text
    /// ctc_loss(log_probs: float[Time, Batch, Classes], targets: int[Batch, Labels], input_lengths: int[Batch], target_lengths: int[Batch]) -> float[...]
    /// ```
    ///
    /// Connectionist temporal classification (Graves et al. 2006): `−ln` of the probability that a sequence of classes, without repetitions and then without blanks, is the target. `log_probs` are such as `log_softmax` gives; what stands behind the lengths has no effect. The mean is over the batch, of each loss divided by the length of its target, or by 1. Where the input is too short for the target the loss is infinite and has a gradient of 0. A label that is no class, and a length beyond its axis, make it NaN. The gradient is the loss's own; PyTorch's is another one where `log_probs` are not normalised.
    ///
    /// In PyTorch `torch.nn.functional.ctc_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `blank` | an integer | `0` | the class that is no label |
    /// | `zero_infinity` | `true` or `false` | `false` | whether the loss is 0 where no path fits, instead of infinite |
    ///
    /// Example: `ctc_loss(x, y, i, t, reduction = "none", zero_infinity = true)` of `x: f32[7, 3, 5]`, `y: u32[3, 2]`, `i: u32[3]`, `t: u32[3]` is `f32[3]`.
    pub const ctc_loss: &str = "ctc_loss(log_probs: float[Time, Batch, Classes], targets: int[Batch, Labels], input_lengths: int[Batch], target_lengths: int[Batch]) -> float[...]";

    /// ```text
    /// cummax(x: number[..]) -> number[..]
    /// ```
    ///
    /// The largest of each element and those before it along an axis; the exclusive one starts with the least number. Equal extremes share the derivative, where PyTorch gives it to the last.
    ///
    /// In PyTorch `torch.cummax`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis along which it runs; negative counts from the end |
    /// | `reverse` | `true` or `false` | `false` | whether it runs from the last element to the first |
    /// | `exclusive` | `true` or `false` | `false` | whether an element's own value is left out |
    ///
    /// Example: `cummax(x, axis = 1)` of `x: f32[2, 21, 3]` is `f32[2, 21, 3]`.
    pub const cummax: &str = "cummax(x: number[..]) -> number[..]";

    /// ```text
    /// cummin(x: number[..]) -> number[..]
    /// ```
    ///
    /// The smallest of each element and those before it along an axis; the exclusive one starts with the largest number. Equal extremes share the derivative, where PyTorch gives it to the last.
    ///
    /// In PyTorch `torch.cummin`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis along which it runs; negative counts from the end |
    /// | `reverse` | `true` or `false` | `false` | whether it runs from the last element to the first |
    /// | `exclusive` | `true` or `false` | `false` | whether an element's own value is left out |
    ///
    /// Example: `cummin(x, axis = 1)` of `x: f32[2, 21, 3]` is `f32[2, 21, 3]`.
    pub const cummin: &str = "cummin(x: number[..]) -> number[..]";

    /// ```text
    /// cumprod(x: number[..]) -> wide[..]
    /// ```
    ///
    /// The product of each element and those before it along an axis; the exclusive one starts with 1.
    ///
    /// In PyTorch `torch.cumprod`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis along which it runs; negative counts from the end |
    /// | `reverse` | `true` or `false` | `false` | whether it runs from the last element to the first |
    /// | `exclusive` | `true` or `false` | `false` | whether an element's own value is left out |
    ///
    /// Example: `cumprod(x, axis = 1)` of `x: f32[2, 21, 3]` is `f32[2, 21, 3]`.
    pub const cumprod: &str = "cumprod(x: number[..]) -> wide[..]";

    /// ```text
    /// cumsum(x: number[..]) -> wide[..]
    /// ```
    ///
    /// The sum of each element and those before it along an axis; the exclusive one starts with 0.
    ///
    /// In PyTorch `torch.cumsum`, in ONNX `CumSum`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis along which it runs; negative counts from the end |
    /// | `reverse` | `true` or `false` | `false` | whether it runs from the last element to the first |
    /// | `exclusive` | `true` or `false` | `false` | whether an element's own value is left out |
    ///
    /// Example: `cumsum(x, axis = 1)` of `x: f32[2, 21, 3]` is `f32[2, 21, 3]`.
    pub const cumsum: &str = "cumsum(x: number[..]) -> wide[..]";

    /// ```text
    /// diag(x: number[.., N]) -> number[.., N, N]
    /// ```
    ///
    /// Square matrices with the last axis of `x` as their diagonal and 0 elsewhere.
    ///
    /// In PyTorch `torch.diag_embed`.
    ///
    /// Example: `diag(x)` of `x: f32[5]` is `f32[5, 5]`.
    pub const diag: &str = "diag(x: number[.., N]) -> number[.., N, N]";

    /// ```text
    /// diagonal(x: number[.., Rows, Columns]) -> number[...]
    /// ```
    ///
    /// A diagonal of matrices over the last two axes, which it replaces by one.
    ///
    /// In PyTorch `torch.diagonal`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `offset` | an integer | `0` | how far the diagonal lies above the main one; negative below |
    ///
    /// Example: `diagonal(x, 1)` of `x: f32[5, 7]` is `f32[5]`.
    pub const diagonal: &str = "diagonal(x: number[.., Rows, Columns]) -> number[...]";

    /// ```text
    /// div(a: number[...], b: number[...]) -> number[...]
    /// ```
    ///
    /// The quotient `a / b`; integers truncate, and give 0 where `b` is 0.
    ///
    /// In PyTorch `torch.div`, in ONNX `Div`.
    ///
    /// Example: `div(a, b)` of `a: f32[5, 7]`, `b: f32[5, 7]` is `f32[5, 7]`.
    pub const div: &str = "div(a: number[...], b: number[...]) -> number[...]";

    /// ```text
    /// drop_path(x: float[Batch, ..], key: u32[2]!) -> float[Batch, ..]
    /// ```
    ///
    /// Stochastic depth (Huang et al. 2016): in training, each sample of the first axis is 0 as a whole with probability `p` and `x / (1 − p)` otherwise; elsewhere `x` itself, unless a key says which to drop. It stands before a residual is added: `x + drop_path(self.block(x), 0.1)`.
    ///
    /// In PyTorch `torchvision.ops.stochastic_depth`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `p` | a number | `0.5` | the probability with which a sample is dropped, from 0 to 1 |
    ///
    /// Example: `drop_path(x, 0.25)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const drop_path: &str = "drop_path(x: float[Batch, ..], key: u32[2]!) -> float[Batch, ..]";

    /// ```text
    /// dropout(x: float[..], key: u32[2]!) -> float[..]
    /// ```
    ///
    /// In training, each element is 0 with probability `p` and `x / (1 − p)` otherwise (Srivastava et al. 2014, inverted); elsewhere `x` itself, unless a key says which to drop: `dropout(x, 0.1, key = key)`.
    ///
    /// In PyTorch `torch.nn.functional.dropout`, in ONNX `Dropout`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `p` | a number | `0.5` | the probability of a zero, from 0 to 1 |
    ///
    /// Example: `dropout(x, 0.25)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const dropout: &str = "dropout(x: float[..], key: u32[2]!) -> float[..]";

    /// ```text
    /// einsum(x: float[...]*) -> float[...]
    /// ```
    ///
    /// A sum of products in Einstein's notation: letters that the result lacks are summed. Without `->` the result has the letters that stand once, in alphabetical order.
    ///
    /// In PyTorch `torch.einsum`, in ONNX `Einsum`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `spec` | a text | required | a letter for each axis of each argument, `->`, and the letters of the result |
    ///
    /// Example: `einsum("ik,kj->ij", x, y)` of `x: f32[5, 7]`, `y: f32[7, 17]` is `f32[5, 17]`.
    pub const einsum: &str = "einsum(x: float[...]*) -> float[...]";

    /// ```text
    /// elu(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x` above zero and `alpha · (eˣ − 1)` elsewhere (Clevert, Unterthiner and Hochreiter 2015).
    ///
    /// In PyTorch `torch.nn.functional.elu`, in ONNX `Elu`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `alpha` | a number | `1` | the negative of the limit at −∞ |
    ///
    /// Example: `elu(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const elu: &str = "elu(x: float[..]) -> float[..]";

    /// ```text
    /// embedding(index: int[..], weight: float[Count, Features]) -> float[.., Features]
    /// ```
    ///
    /// The row of `weight` for each index. An index outside of the table gives NaN.
    ///
    /// In PyTorch `torch.nn.functional.embedding`.
    ///
    /// Example: `embedding(i, w)` of `i: u32[3, 2]`, `w: f32[17, 7]` is `f32[3, 2, 7]`.
    pub const embedding: &str = "embedding(index: int[..], weight: float[Count, Features]) -> float[.., Features]";

    /// ```text
    /// eq(a: any[...], b: any[...]) -> bool[...]
    /// ```
    ///
    /// Whether `a = b`.
    ///
    /// In PyTorch `torch.eq`, in ONNX `Equal`.
    ///
    /// Example: `eq(a, b)` of `a: i32[5, 7]`, `b: i32[5, 7]` is `bool[5, 7]`.
    pub const eq: &str = "eq(a: any[...], b: any[...]) -> bool[...]";

    /// ```text
    /// erf(x: float[..]) -> float[..]
    /// ```
    ///
    /// The error function `2/√π · ∫₀ˣ e^(−t²) dt`.
    ///
    /// In PyTorch `torch.erf`, in ONNX `Erf`.
    ///
    /// Example: `erf(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const erf: &str = "erf(x: float[..]) -> float[..]";

    /// ```text
    /// exp(x: float[..]) -> float[..]
    /// ```
    ///
    /// The exponential `eˣ`.
    ///
    /// In PyTorch `torch.exp`, in ONNX `Exp`.
    ///
    /// Example: `exp(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const exp: &str = "exp(x: float[..]) -> float[..]";

    /// ```text
    /// exp2(x: float[..]) -> float[..]
    /// ```
    ///
    /// The power `2ˣ`.
    ///
    /// In PyTorch `torch.exp2`.
    ///
    /// Example: `exp2(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const exp2: &str = "exp2(x: float[..]) -> float[..]";

    /// ```text
    /// expm1(x: float[..]) -> float[..]
    /// ```
    ///
    /// The exponential less one, `eˣ − 1`, accurate near zero.
    ///
    /// In PyTorch `torch.expm1`.
    ///
    /// Example: `expm1(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const expm1: &str = "expm1(x: float[..]) -> float[..]";

    /// ```text
    /// eye() -> float[..]
    /// ```
    ///
    /// The identity matrix.
    ///
    /// In PyTorch `torch.eye`, in ONNX `EyeLike`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `n` | an extent | required | rows and columns |
    ///
    /// Example: `sub(x, eye(5))` of `x: f32[5, 5]` is `f32[5, 5]`.
    pub const eye: &str = "eye() -> float[..]";

    /// ```text
    /// f16(x: any[..]) -> f16[..]
    /// ```
    ///
    /// The same as `cast(x, "f16")`.
    ///
    /// Example: `f16(x)` of `x: u32[5, 7]` is `f16[5, 7]`.
    pub const f16: &str = "f16(x: any[..]) -> f16[..]";

    /// ```text
    /// f32(x: any[..]) -> f32[..]
    /// ```
    ///
    /// The same as `cast(x, "f32")`.
    ///
    /// Example: `f32(x)` of `x: u32[5, 7]` is `f32[5, 7]`.
    pub const f32: &str = "f32(x: any[..]) -> f32[..]";

    /// ```text
    /// f64(x: any[..]) -> f64[..]
    /// ```
    ///
    /// The same as `cast(x, "f64")`.
    ///
    /// Example: `f64(x)` of `x: u32[5, 7]` is `f64[5, 7]`.
    pub const f64: &str = "f64(x: any[..]) -> f64[..]";

    /// ```text
    /// f8e4m3(x: any[..]) -> f8e4m3[..]
    /// ```
    ///
    /// The same as `cast(x, "f8e4m3")`.
    ///
    /// Example: `f8e4m3(x)` of `x: u32[5, 7]` is `f8e4m3[5, 7]`.
    pub const f8e4m3: &str = "f8e4m3(x: any[..]) -> f8e4m3[..]";

    /// ```text
    /// flatten(x: any[...]) -> any[...]
    /// ```
    ///
    /// Merges the axes from `start` to `end`; by default all but the first, which is the batch.
    ///
    /// In PyTorch `torch.flatten`, in ONNX `Flatten`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `start` | an integer | `1` | the first axis that is merged |
    /// | `end` | an integer | `-1` | the last axis that is merged |
    ///
    /// Example: `flatten(x)` of `x: f32[5, 7, 17]` is `f32[5, 119]`.
    pub const flatten: &str = "flatten(x: any[...]) -> any[...]";

    /// ```text
    /// flip(x: any[..]) -> any[..]
    /// ```
    ///
    /// Reverses the order of the elements along axes.
    ///
    /// In PyTorch `torch.flip`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reversed axes; all where absent |
    ///
    /// Example: `flip(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const flip: &str = "flip(x: any[..]) -> any[..]";

    /// ```text
    /// floor(x: float[..]) -> float[..]
    /// ```
    ///
    /// Rounded towards −∞; its derivative is 0.
    ///
    /// In PyTorch `torch.floor`, in ONNX `Floor`.
    ///
    /// Example: `floor(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const floor: &str = "floor(x: float[..]) -> float[..]";

    /// ```text
    /// fold_in(key: u32[2], data: u32[]) -> u32[2]
    /// ```
    ///
    /// The key number `data` of those that belong to `key`; draws from different ones are independent. It makes the key of a step from the number of the step.
    ///
    /// Example: `fold_in(k, n)` of `k: u32[2]`, `n: u32` is `u32[2]`.
    pub const fold_in: &str = "fold_in(key: u32[2], data: u32[]) -> u32[2]";

    /// ```text
    /// full() -> *
    /// ```
    ///
    /// A tensor of one value.
    ///
    /// In PyTorch `torch.full`, in ONNX `ConstantOfShape`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | the extents of the result |
    /// | `value` | a number | required | every element |
    /// | `dtype` | `"f32"`, `"f64"`, `"f16"`, `"bf16"`, `"f8e4m3"`, `"i8"`, `"u8"`, `"i16"`, `"u16"`, `"i32"`, `"u32"`, `"i64"`, `"u64"`, `"bool"` |  | the element type of the result; that of the parameters where it is not given |
    ///
    /// Example: `mul(x, full([5, 7], 2.5))` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const full: &str = "full() -> *";

    /// ```text
    /// gather(x: any[...], index: int[...]) -> any[...]
    /// ```
    ///
    /// `result[i, j] = x[i, index[i, j]]` for axis 1, and so on, as PyTorch's: all other axes run along. An index outside of the axis gives NaN, or 0 for integers, and gets no gradient. `take` picks whole slices.
    ///
    /// In PyTorch `torch.gather`, in ONNX `GatherElements`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | required | the indexed axis; negative counts from the end |
    ///
    /// Example: `gather(x, i, axis = 1)` of `x: f32[5, 7]`, `i: u32[5, 3]` is `f32[5, 3]`.
    pub const gather: &str = "gather(x: any[...], index: int[...]) -> any[...]";

    /// ```text
    /// gaussian_nll_loss(input: float[..], target: float[..], var: float[..]) -> float[...]
    /// ```
    ///
    /// `(ln var + (input − target)² / var) / 2`, the negative log likelihood of `target` under a normal distribution with that mean and variance (Nix and Weigend 1994); `full` adds `ln(2π)/2`. A variance below `eps` counts as `eps`, but keeps its gradient.
    ///
    /// In PyTorch `torch.nn.functional.gaussian_nll_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `full` | `true` or `false` | `false` | whether the terms without `input` are added |
    /// | `eps` | a number | `1e-6` | the least variance; positive |
    ///
    /// Example: `gaussian_nll_loss(x, y, v, reduction = "none", full = true)` of `x: f32[5, 7]`, `y: f32[5, 7]`, `v: f32[5, 7]` is `f32[5, 7]`.
    pub const gaussian_nll_loss: &str = "gaussian_nll_loss(input: float[..], target: float[..], var: float[..]) -> float[...]";

    /// ```text
    /// ge(a: number[...], b: number[...]) -> bool[...]
    /// ```
    ///
    /// Whether `a ≥ b`.
    ///
    /// In PyTorch `torch.ge`, in ONNX `GreaterOrEqual`.
    ///
    /// Example: `ge(a, b)` of `a: i32[5, 7]`, `b: i32[5, 7]` is `bool[5, 7]`.
    pub const ge: &str = "ge(a: number[...], b: number[...]) -> bool[...]";

    /// ```text
    /// geglu(x: float[...]) -> float[...]
    /// ```
    ///
    /// `gelu(u) · v` of the halves `u`, `v` of an axis: the gate is the first (Shazeer 2020).
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the halved axis; negative counts from the end |
    ///
    /// Example: `geglu(x)` of `x: f32[5, 14]` is `f32[5, 7]`.
    pub const geglu: &str = "geglu(x: float[...]) -> float[...]";

    /// ```text
    /// gelu(x: float[..]) -> float[..]
    /// ```
    ///
    /// The Gaussian error linear unit `x/2 · (1 + erf(x/√2))`, or with "tanh" `x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))` (Hendrycks and Gimpel 2016).
    ///
    /// In PyTorch `torch.nn.functional.gelu`, in ONNX `Gelu`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `approximate` | `"none"`, `"tanh"` | `"none"` | "tanh" takes the cheaper formula |
    ///
    /// Example: `gelu(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const gelu: &str = "gelu(x: float[..]) -> float[..]";

    /// ```text
    /// global_avg_pool(x: float[Batch, Channels, ..]) -> float[...]
    /// ```
    ///
    /// The mean over all axes after the second, which stay with extent 1.
    ///
    /// In PyTorch `torch.nn.functional.adaptive_avg_pool2d`, in ONNX `GlobalAveragePool`.
    ///
    /// Example: `global_avg_pool(x)` of `x: f32[2, 3, 7, 5]` is `f32[2, 3, 1, 1]`.
    pub const global_avg_pool: &str = "global_avg_pool(x: float[Batch, Channels, ..]) -> float[...]";

    /// ```text
    /// global_max_pool(x: float[Batch, Channels, ..]) -> float[...]
    /// ```
    ///
    /// The largest element over all axes after the second, which stay with extent 1. The gradient goes to the first largest.
    ///
    /// In PyTorch `torch.nn.functional.adaptive_max_pool2d`, in ONNX `GlobalMaxPool`.
    ///
    /// Example: `global_max_pool(x)` of `x: f32[2, 3, 7, 5]` is `f32[2, 3, 1, 1]`.
    pub const global_max_pool: &str = "global_max_pool(x: float[Batch, Channels, ..]) -> float[...]";

    /// ```text
    /// glu(x: float[...]) -> float[...]
    /// ```
    ///
    /// `u · σ(v)` of the halves `u`, `v` of an axis, as in PyTorch (Dauphin et al. 2016).
    ///
    /// In PyTorch `torch.nn.functional.glu`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the halved axis; negative counts from the end |
    ///
    /// Example: `glu(x)` of `x: f32[5, 14]` is `f32[5, 7]`.
    pub const glu: &str = "glu(x: float[...]) -> float[...]";

    /// ```text
    /// group_norm(x: float[Batch, Channels, ..], weight: float[Channels]?, bias: float[Channels]?) -> float[Batch, Channels, ..]
    /// ```
    ///
    /// `(x − mean) / √(variance + eps) · weight + bias` with mean and population variance over each group of consecutive channels and all axes after them (Wu and He 2018).
    ///
    /// In PyTorch `torch.nn.functional.group_norm`, in ONNX `GroupNormalization`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `groups` | an integer | required | how many groups the channels make |
    /// | `eps` | a number | `1e-5` | added to the variance |
    ///
    /// Example: `group_norm(x, w, c, groups = 3)` of `x: f32[2, 6, 3, 5]`, `w: f32[6]`, `c: f32[6]` is `f32[2, 6, 3, 5]`.
    pub const group_norm: &str = "group_norm(x: float[Batch, Channels, ..], weight: float[Channels]?, bias: float[Channels]?) -> float[Batch, Channels, ..]";

    /// ```text
    /// gru(x: float[Batch, Steps, Features], h_0: each[...]?, lengths: each[...]!, weight_ih_l0: each[...]*) -> float*
    /// ```
    ///
    /// Gated recurrent units over the middle axis: `h = (1 − σ(z))·n + σ(z)·h`, `n = tanh(x_n + σ(r)·h_n)`, where `r, z, n` are the parts of `x·weight_ihᵀ + bias_ih` and `h·weight_hhᵀ + bias_hh`, the first two summed (Cho et al. 2014, with the reset after the product as in cuDNN and PyTorch). Gives the output of every step `[Batch, Steps, directions·hidden]`, and the last `h`, `[layers·directions, Batch, hidden]`, as which a first state may be given; otherwise it is zero. With `lengths = n`, a `u32[Batch]`, sequence `b` ends after `n[b]` steps: later outputs are zero, and last states are those at its end. Between layers, `dropout` of the elements are zero in training.
    ///
    /// In PyTorch `torch.nn.GRU`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `layers` | an integer | `1` | layers, each over the output of the one before |
    /// | `bidirectional` | `true` or `false` | `false` | whether a second state runs backwards in time |
    /// | `bias` | `true` or `false` | `true` | whether learnt offsets are added |
    /// | `dropout` | a number | `0.0` | the probability with which elements between layers are zero in training, from 0 to 1 |
    ///
    /// Example: `gru(x, v, w, c, d)` of `x: f32[B, 3, 2]`, `v: f32[9, 2]`, `w: f32[9, 3]`, `c: f32[9]`, `d: f32[9]` is `(f32[B, 3, 3], f32[1, B, 3])`.
    pub const gru: &str = "gru(x: float[Batch, Steps, Features], h_0: each[...]?, lengths: each[...]!, weight_ih_l0: each[...]*) -> float*";

    /// ```text
    /// gt(a: number[...], b: number[...]) -> bool[...]
    /// ```
    ///
    /// Whether `a > b`.
    ///
    /// In PyTorch `torch.gt`, in ONNX `Greater`.
    ///
    /// Example: `gt(a, b)` of `a: i32[5, 7]`, `b: i32[5, 7]` is `bool[5, 7]`.
    pub const gt: &str = "gt(a: number[...], b: number[...]) -> bool[...]";

    /// ```text
    /// hard_sigmoid(x: float[..]) -> float[..]
    /// ```
    ///
    /// `min(max(x + 3, 0), 6) / 6`, as in PyTorch.
    ///
    /// In PyTorch `torch.nn.functional.hardsigmoid`, in ONNX `HardSigmoid`.
    ///
    /// Example: `hard_sigmoid(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const hard_sigmoid: &str = "hard_sigmoid(x: float[..]) -> float[..]";

    /// ```text
    /// hard_swish(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x · min(max(x + 3, 0), 6) / 6` (Howard et al. 2019).
    ///
    /// In PyTorch `torch.nn.functional.hardswish`, in ONNX `HardSwish`.
    ///
    /// Example: `hard_swish(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const hard_swish: &str = "hard_swish(x: float[..]) -> float[..]";

    /// ```text
    /// hard_tanh(x: float[..]) -> float[..]
    /// ```
    ///
    /// `min(max(x, lower), upper)`; the derivative at and outside of the bounds is 0 (Collobert 2004).
    ///
    /// In PyTorch `torch.nn.functional.hardtanh`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `min` | a number | `-1` | the least value |
    /// | `max` | a number | `1` | the largest value, above `min` |
    ///
    /// Example: `hard_tanh(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const hard_tanh: &str = "hard_tanh(x: float[..]) -> float[..]";

    /// ```text
    /// hardshrink(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x` where `|x| > lambd` and 0 elsewhere.
    ///
    /// In PyTorch `torch.nn.functional.hardshrink`, in ONNX `Shrink`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `lambd` | a number | `0.5` | numbers up to this size give 0; not negative |
    ///
    /// Example: `hardshrink(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const hardshrink: &str = "hardshrink(x: float[..]) -> float[..]";

    /// ```text
    /// heads(x: any[...]) -> any[...]
    /// ```
    ///
    /// The features as `n` heads, which stand before the positions: `[.., T, n·d]` gives `[.., n, T, d]`. What has at most two axes has no axis of positions: `[B, n·d]` gives `[B, n, d]`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `count` | an integer | required | how many heads; it divides the features |
    ///
    /// Example: `heads(x, 3)` of `x: f32[B, 5, 21]` is `f32[B, 3, 5, 7]`.
    pub const heads: &str = "heads(x: any[...]) -> any[...]";

    /// ```text
    /// hinge_embedding_loss(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// The distance `input` itself where the target is 1, and `max(margin − input, 0)` where it is −1.
    ///
    /// In PyTorch `torch.nn.functional.hinge_embedding_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `margin` | a number | `1` | the distance that is asked for |
    ///
    /// Example: `hinge_embedding_loss(x, sign(t), reduction = "none", margin = 0.5)` of `x: f32[5, 7]`, `t: f32[5, 7]` is `f32[5, 7]`.
    pub const hinge_embedding_loss: &str = "hinge_embedding_loss(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// huber_loss(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// `e²/2` for errors `e` up to `delta` and `delta · (|e| − delta/2)` beyond (Huber 1964).
    ///
    /// In PyTorch `torch.nn.functional.huber_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `delta` | a number | `1` | the error beyond which it grows linearly; positive |
    ///
    /// Example: `huber_loss(x, y, reduction = "none", delta = 0.5)` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5, 7]`.
    pub const huber_loss: &str = "huber_loss(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// i16(x: any[..]) -> i16[..]
    /// ```
    ///
    /// The same as `cast(x, "i16")`.
    ///
    /// Example: `i16(x)` of `x: u32[5, 7]` is `i16[5, 7]`.
    pub const i16: &str = "i16(x: any[..]) -> i16[..]";

    /// ```text
    /// i32(x: any[..]) -> i32[..]
    /// ```
    ///
    /// The same as `cast(x, "i32")`.
    ///
    /// Example: `i32(x)` of `x: u32[5, 7]` is `i32[5, 7]`.
    pub const i32: &str = "i32(x: any[..]) -> i32[..]";

    /// ```text
    /// i64(x: any[..]) -> i64[..]
    /// ```
    ///
    /// The same as `cast(x, "i64")`.
    ///
    /// Example: `i64(x)` of `x: u32[5, 7]` is `i64[5, 7]`.
    pub const i64: &str = "i64(x: any[..]) -> i64[..]";

    /// ```text
    /// i8(x: any[..]) -> i8[..]
    /// ```
    ///
    /// The same as `cast(x, "i8")`.
    ///
    /// Example: `i8(x)` of `x: u32[5, 7]` is `i8[5, 7]`.
    pub const i8: &str = "i8(x: any[..]) -> i8[..]";

    /// ```text
    /// identity(x: any[..]) -> any[..]
    /// ```
    ///
    /// The argument itself.
    ///
    /// In PyTorch `torch.nn.Identity`, in ONNX `Identity`.
    ///
    /// Example: `identity(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const identity: &str = "identity(x: any[..]) -> any[..]";

    /// ```text
    /// index_add(x: number[...], index: int[Count], updates: number[...]) -> number[...]
    /// ```
    ///
    /// `x` with each slice of `updates` added to the slice of `x` at its index, which may come several times. An index outside of the axis is dropped.
    ///
    /// In PyTorch `torch.index_add`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `0` | the indexed axis; negative counts from the end |
    ///
    /// Example: `index_add(x, i, u)` of `x: f32[5, 7]`, `i: u32[9]`, `u: f32[9, 7]` is `f32[5, 7]`.
    pub const index_add: &str = "index_add(x: number[...], index: int[Count], updates: number[...]) -> number[...]";

    /// ```text
    /// instance_norm(x: float[Batch, Channels, ..], weight: float[Channels]?, bias: float[Channels]?) -> float[Batch, Channels, ..]
    /// ```
    ///
    /// `(x − mean) / √(variance + eps) · weight + bias` with mean and population variance over all axes after the channels (Ulyanov, Vedaldi and Lempitsky 2016).
    ///
    /// In PyTorch `torch.nn.functional.instance_norm`, in ONNX `InstanceNormalization`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `eps` | a number | `1e-5` | added to the variance |
    ///
    /// Example: `instance_norm(x, w, c)` of `x: f32[2, 3, 7]`, `w: f32[3]`, `c: f32[3]` is `f32[2, 3, 7]`.
    pub const instance_norm: &str = "instance_norm(x: float[Batch, Channels, ..], weight: float[Channels]?, bias: float[Channels]?) -> float[Batch, Channels, ..]";

    /// ```text
    /// iota() -> u32[...]
    /// ```
    ///
    /// Each element's index along an axis: `iota(T)` is 0, 1 … T − 1.
    ///
    /// In PyTorch `torch.arange`, in ONNX `Range`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | the extents of the result |
    /// | `axis` | an integer | `0` | the counted axis; negative counts from the end |
    ///
    /// Example: `add(x, iota(7))` of `x: u32[7]` is `u32[7]`.
    pub const iota: &str = "iota() -> u32[...]";

    /// ```text
    /// isfinite(x: float[..]) -> bool[..]
    /// ```
    ///
    /// Whether `x` is neither NaN nor infinite.
    ///
    /// In PyTorch `torch.isfinite`.
    ///
    /// Example: `isfinite(log(x))` of `x: f32[5, 7]` is `bool[5, 7]`.
    pub const isfinite: &str = "isfinite(x: float[..]) -> bool[..]";

    /// ```text
    /// isinf(x: float[..]) -> bool[..]
    /// ```
    ///
    /// Whether `x` is ∞ or −∞.
    ///
    /// In PyTorch `torch.isinf`, in ONNX `IsInf`.
    ///
    /// Example: `isinf(log(x))` of `x: f32[5, 7]` is `bool[5, 7]`.
    pub const isinf: &str = "isinf(x: float[..]) -> bool[..]";

    /// ```text
    /// isnan(x: float[..]) -> bool[..]
    /// ```
    ///
    /// Whether `x` is not a number.
    ///
    /// In PyTorch `torch.isnan`, in ONNX `IsNaN`.
    ///
    /// Example: `isnan(log(x))` of `x: f32[5, 7]` is `bool[5, 7]`.
    pub const isnan: &str = "isnan(x: float[..]) -> bool[..]";

    /// ```text
    /// kl_div(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// The divergence `target · (ln target − input)` of Kullback and Leibler (1951), where `input` is the logarithm of a probability; a target of 0 gives 0 where `input` is finite. The divergence of distributions is `reduction = "batchmean"`.
    ///
    /// In PyTorch `torch.nn.functional.kl_div`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"batchmean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, "batchmean" is the sum divided by the first extent, or "none" |
    /// | `log_target` | `true` or `false` | `false` | whether the target is a logarithm as well |
    ///
    /// Example: `kl_div(x, y, reduction = "none")` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5, 7]`.
    pub const kl_div: &str = "kl_div(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// l1_loss(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// The mean absolute error `mean(|input − target|)`; the derivative of equal numbers is 0.
    ///
    /// In PyTorch `torch.nn.functional.l1_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    ///
    /// Example: `l1_loss(x, y, reduction = "none")` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5, 7]`.
    pub const l1_loss: &str = "l1_loss(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// layer_norm(x: float[.., Features], weight: float[Features]?, bias: float[Features]?) -> float[.., Features]
    /// ```
    ///
    /// `(x − mean) / √(variance + eps) · weight + bias` over the last axis (Ba, Kiros and Hinton 2016), with the population variance in two passes.
    ///
    /// In PyTorch `torch.nn.functional.layer_norm`, in ONNX `LayerNormalization`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `eps` | a number | `1e-5` | added to the variance |
    ///
    /// Example: `layer_norm(x, w, c)` of `x: f32[5, 17]`, `w: f32[17]`, `c: f32[17]` is `f32[5, 17]`.
    pub const layer_norm: &str = "layer_norm(x: float[.., Features], weight: float[Features]?, bias: float[Features]?) -> float[.., Features]";

    /// ```text
    /// le(a: number[...], b: number[...]) -> bool[...]
    /// ```
    ///
    /// Whether `a ≤ b`.
    ///
    /// In PyTorch `torch.le`, in ONNX `LessOrEqual`.
    ///
    /// Example: `le(a, b)` of `a: i32[5, 7]`, `b: i32[5, 7]` is `bool[5, 7]`.
    pub const le: &str = "le(a: number[...], b: number[...]) -> bool[...]";

    /// ```text
    /// leaky_relu(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x` above zero and `negative_slope · x` elsewhere (Maas, Hannun and Ng 2013).
    ///
    /// In PyTorch `torch.nn.functional.leaky_relu`, in ONNX `LeakyRelu`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `negative_slope` | a number | `0.01` | the factor below zero |
    ///
    /// Example: `leaky_relu(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const leaky_relu: &str = "leaky_relu(x: float[..]) -> float[..]";

    /// ```text
    /// linear(x: float[.., Features], weight: float[Outputs, Features], bias: float[Outputs]?) -> float[.., Outputs]
    /// ```
    ///
    /// `x · weightᵀ + bias` over the last axis.
    ///
    /// In PyTorch `torch.nn.functional.linear`.
    ///
    /// Example: `linear(x, w, c)` of `x: f32[5, 7]`, `w: f32[17, 7]`, `c: f32[17]` is `f32[5, 17]`.
    pub const linear: &str = "linear(x: float[.., Features], weight: float[Outputs, Features], bias: float[Outputs]?) -> float[.., Outputs]";

    /// ```text
    /// linspace() -> float[_]
    /// ```
    ///
    /// `count` numbers from `start` to `end`, both included, equally far apart. The second half is counted from the end, so that both ends are exact.
    ///
    /// In PyTorch `torch.linspace`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `start` | a number | required | the first number |
    /// | `end` | a number | required | the last number |
    /// | `count` | an extent | required | how many, at least 2 |
    ///
    /// Example: `mul(x, linspace(-1, 2.5, 7))` of `x: f32[7]` is `f32[7]`.
    pub const linspace: &str = "linspace() -> float[_]";

    /// ```text
    /// log(x: float[..]) -> float[..]
    /// ```
    ///
    /// The natural logarithm; NaN below zero.
    ///
    /// In PyTorch `torch.log`, in ONNX `Log`.
    ///
    /// Example: `log(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const log: &str = "log(x: float[..]) -> float[..]";

    /// ```text
    /// log10(x: float[..]) -> float[..]
    /// ```
    ///
    /// The logarithm to base 10; NaN below zero.
    ///
    /// In PyTorch `torch.log10`.
    ///
    /// Example: `log10(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const log10: &str = "log10(x: float[..]) -> float[..]";

    /// ```text
    /// log1p(x: float[..]) -> float[..]
    /// ```
    ///
    /// `ln(1 + x)`, accurate near zero.
    ///
    /// In PyTorch `torch.log1p`.
    ///
    /// Example: `log1p(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const log1p: &str = "log1p(x: float[..]) -> float[..]";

    /// ```text
    /// log2(x: float[..]) -> float[..]
    /// ```
    ///
    /// The logarithm to base 2; NaN below zero.
    ///
    /// In PyTorch `torch.log2`.
    ///
    /// Example: `log2(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const log2: &str = "log2(x: float[..]) -> float[..]";

    /// ```text
    /// log_sigmoid(x: float[..]) -> float[..]
    /// ```
    ///
    /// `ln(1 / (1 + e⁻ˣ))`, as `−softplus(−x)`, which neither overflows nor becomes −∞.
    ///
    /// In PyTorch `torch.nn.functional.logsigmoid`.
    ///
    /// Example: `log_sigmoid(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const log_sigmoid: &str = "log_sigmoid(x: float[..]) -> float[..]";

    /// ```text
    /// log_softmax(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x − ln Σ eˣ` along an axis, shifted by the largest element so that it neither overflows nor loses small probabilities.
    ///
    /// In PyTorch `torch.nn.functional.log_softmax`, in ONNX `LogSoftmax`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis whose exponentials sum to one; negative counts from the end |
    ///
    /// Example: `log_softmax(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const log_softmax: &str = "log_softmax(x: float[..]) -> float[..]";

    /// ```text
    /// logical_and(a: bool[...], b: bool[...]) -> bool[...]
    /// ```
    ///
    /// Whether both hold.
    ///
    /// In PyTorch `torch.logical_and`, in ONNX `And`.
    ///
    /// Example: `logical_and(a, b)` of `a: bool[5, 7]`, `b: bool[5, 7]` is `bool[5, 7]`.
    pub const logical_and: &str = "logical_and(a: bool[...], b: bool[...]) -> bool[...]";

    /// ```text
    /// logical_not(x: bool[..]) -> bool[..]
    /// ```
    ///
    /// Whether `x` does not hold; `!x` means it.
    ///
    /// In PyTorch `torch.logical_not`, in ONNX `Not`.
    ///
    /// Example: `logical_not(x)` of `x: bool[5, 7]` is `bool[5, 7]`.
    pub const logical_not: &str = "logical_not(x: bool[..]) -> bool[..]";

    /// ```text
    /// logical_or(a: bool[...], b: bool[...]) -> bool[...]
    /// ```
    ///
    /// Whether one of both holds.
    ///
    /// In PyTorch `torch.logical_or`, in ONNX `Or`.
    ///
    /// Example: `logical_or(a, b)` of `a: bool[5, 7]`, `b: bool[5, 7]` is `bool[5, 7]`.
    pub const logical_or: &str = "logical_or(a: bool[...], b: bool[...]) -> bool[...]";

    /// ```text
    /// logical_xor(a: bool[...], b: bool[...]) -> bool[...]
    /// ```
    ///
    /// Whether exactly one of both holds.
    ///
    /// In PyTorch `torch.logical_xor`, in ONNX `Xor`.
    ///
    /// Example: `logical_xor(a, b)` of `a: bool[5, 7]`, `b: bool[5, 7]` is `bool[5, 7]`.
    pub const logical_xor: &str = "logical_xor(a: bool[...], b: bool[...]) -> bool[...]";

    /// ```text
    /// logsumexp(x: float[..]) -> float[...]
    /// ```
    ///
    /// `ln Σ eˣ` over the axes, shifted by the largest element so that it does not overflow.
    ///
    /// In PyTorch `torch.logsumexp`, in ONNX `ReduceLogSumExp`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `logsumexp(x, axis = 1)` of `x: f32[5, 7, 17]` is `f32[5, 17]`.
    pub const logsumexp: &str = "logsumexp(x: float[..]) -> float[...]";

    /// ```text
    /// lstm(x: float[Batch, Steps, Features], h_0: each[...]?, c_0: each[...]?, lengths: each[...]!, weight_ih_l0: each[...]*) -> float*
    /// ```
    ///
    /// Long short-term memory over the middle axis: `c = σ(f)·c + σ(i)·tanh(g)`, `h = σ(o)·tanh(c)`, where `i, f, g, o` are the parts of `x·weight_ihᵀ + bias_ih + h·weight_hhᵀ + bias_hh` (Hochreiter and Schmidhuber 1997; Gers et al. 2000). Gives the output of every step `[Batch, Steps, directions·hidden]`, and the last `h` and `c`, `[layers·directions, Batch, hidden]`, as which a first state may be given; otherwise it is zero. With `lengths = n`, a `u32[Batch]`, sequence `b` ends after `n[b]` steps: later outputs are zero, and last states are those at its end. Between layers, `dropout` of the elements are zero in training.
    ///
    /// In PyTorch `torch.nn.LSTM`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `layers` | an integer | `1` | layers, each over the output of the one before |
    /// | `bidirectional` | `true` or `false` | `false` | whether a second state runs backwards in time |
    /// | `bias` | `true` or `false` | `true` | whether learnt offsets are added |
    /// | `dropout` | a number | `0.0` | the probability with which elements between layers are zero in training, from 0 to 1 |
    ///
    /// Example: `lstm(x, v, w, c, d)` of `x: f32[B, 3, 2]`, `v: f32[12, 2]`, `w: f32[12, 3]`, `c: f32[12]`, `d: f32[12]` is `(f32[B, 3, 3], f32[1, B, 3], f32[1, B, 3])`.
    pub const lstm: &str = "lstm(x: float[Batch, Steps, Features], h_0: each[...]?, c_0: each[...]?, lengths: each[...]!, weight_ih_l0: each[...]*) -> float*";

    /// ```text
    /// lt(a: number[...], b: number[...]) -> bool[...]
    /// ```
    ///
    /// Whether `a < b`.
    ///
    /// In PyTorch `torch.lt`, in ONNX `Less`.
    ///
    /// Example: `lt(a, b)` of `a: i32[5, 7]`, `b: i32[5, 7]` is `bool[5, 7]`.
    pub const lt: &str = "lt(a: number[...], b: number[...]) -> bool[...]";

    /// ```text
    /// margin_ranking_loss(a: float[..], b: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// `max(margin − target · (a − b), 0)`: with a target of 1, `a` should be larger, with −1 `b`.
    ///
    /// In PyTorch `torch.nn.functional.margin_ranking_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `margin` | a number | `0` | the distance that is asked for |
    ///
    /// Example: `margin_ranking_loss(x, y, sign(t), reduction = "none", margin = 0.5)` of `x: f32[5, 7]`, `y: f32[5, 7]`, `t: f32[5, 7]` is `f32[5, 7]`.
    pub const margin_ranking_loss: &str = "margin_ranking_loss(a: float[..], b: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// masked_fill(x: number[...], mask: bool[...]) -> number[...]
    /// ```
    ///
    /// `value` where the mask holds and `x` elsewhere; the mask broadcasts to the shape of `x`.
    ///
    /// In PyTorch `torch.Tensor.masked_fill`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `value` | a number | required | what stands where the mask holds |
    ///
    /// Example: `masked_fill(x, m, -1e9)` of `x: f32[5, 7]`, `m: bool[5, 7]` is `f32[5, 7]`.
    pub const masked_fill: &str = "masked_fill(x: number[...], mask: bool[...]) -> number[...]";

    /// ```text
    /// matmul(a: float[...], b: float[...]) -> float[...]
    /// ```
    ///
    /// The matrix product `Σₖ a[.., i, k] · b[.., k, j]`. Leading axes broadcast; a vector is a row on the left and a column on the right, and its axis is dropped.
    ///
    /// In PyTorch `torch.matmul`, in ONNX `MatMul`.
    ///
    /// Example: `matmul(x, y)` of `x: f32[5, 7]`, `y: f32[7, 17]` is `f32[5, 17]`.
    pub const matmul: &str = "matmul(a: float[...], b: float[...]) -> float[...]";

    /// ```text
    /// max(x: number[..]) -> number[...]
    /// ```
    ///
    /// The largest element over the axes; NaN if any is. Equal ones share the gradient.
    ///
    /// In PyTorch `torch.amax`, in ONNX `ReduceMax`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `max(x, axis = 1)` of `x: f32[5, 7, 17]` is `f32[5, 17]`.
    pub const max: &str = "max(x: number[..]) -> number[...]";

    /// ```text
    /// max_pool1d(x: float[.., Length]) -> float[...]
    /// ```
    ///
    /// The largest element of each window over the last axis; padding does not take part. The gradient goes to the first largest.
    ///
    /// In PyTorch `torch.nn.functional.max_pool1d`, in ONNX `MaxPool`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `window` | integers, one for each axis or one for all | required | length of the window |
    /// | `stride` | integers, one for each axis or one for all |  | from one window to the next; where absent, the window itself |
    /// | `padding` | integers, one for each axis or one for all | `0` | elements assumed around each spatial axis |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    /// | `ceil_mode` | `true` or `false` | `false` | whether a last window that begins inside of the padded axis, but does not end there, counts |
    ///
    /// Example: `max_pool1d(x, 2)` of `x: f32[2, 3, 9]` is `f32[2, 3, 4]`.
    pub const max_pool1d: &str = "max_pool1d(x: float[.., Length]) -> float[...]";

    /// ```text
    /// max_pool2d(x: float[.., Height, Width]) -> float[...]
    /// ```
    ///
    /// The largest element of each window over the last two axes; padding does not take part. The gradient goes to the first largest.
    ///
    /// In PyTorch `torch.nn.functional.max_pool2d`, in ONNX `MaxPool`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `window` | integers, one for each axis or one for all | required | height and width of the window |
    /// | `stride` | integers, one for each axis or one for all |  | from one window to the next; where absent, the window itself |
    /// | `padding` | integers, one for each axis or one for all | `0` | elements assumed around each spatial axis |
    /// | `dilation` | integers, one for each axis or one for all | `1` | from one element of a window to the next |
    /// | `ceil_mode` | `true` or `false` | `false` | whether a last window that begins inside of the padded axis, but does not end there, counts |
    ///
    /// Example: `max_pool2d(x, window = 2)` of `x: f32[2, 3, 8, 6]` is `f32[2, 3, 4, 3]`.
    pub const max_pool2d: &str = "max_pool2d(x: float[.., Height, Width]) -> float[...]";

    /// ```text
    /// maximum(a: number[...], b: number[...]) -> number[...]
    /// ```
    ///
    /// The larger of two elements; NaN if either is.
    ///
    /// In PyTorch `torch.maximum`, in ONNX `Max`.
    ///
    /// Example: `maximum(a, b)` of `a: f32[5, 7]`, `b: f32[5, 7]` is `f32[5, 7]`.
    pub const maximum: &str = "maximum(a: number[...], b: number[...]) -> number[...]";

    /// ```text
    /// mean(x: float[..]) -> float[...]
    /// ```
    ///
    /// The arithmetic mean `Σ x / n` over the axes.
    ///
    /// In PyTorch `torch.mean`, in ONNX `ReduceMean`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `mean(x, axis = 1)` of `x: f32[5, 7, 17]` is `f32[5, 17]`.
    pub const mean: &str = "mean(x: float[..]) -> float[...]";

    /// ```text
    /// merge_heads(x: any[...]) -> any[...]
    /// ```
    ///
    /// The heads' features one after the other, as before `heads`: `[.., n, T, d]` gives `[.., T, n·d]`, and what has at most three axes, `[B, n, d]`, gives `[B, n·d]`.
    ///
    /// Example: `merge_heads(x)` of `x: f32[B, 3, 5, 7]` is `f32[B, 5, 21]`.
    pub const merge_heads: &str = "merge_heads(x: any[...]) -> any[...]";

    /// ```text
    /// min(x: number[..]) -> number[...]
    /// ```
    ///
    /// The smallest element over the axes; NaN if any is. Equal ones share the gradient.
    ///
    /// In PyTorch `torch.amin`, in ONNX `ReduceMin`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `min(x, axis = 1)` of `x: f32[5, 7, 17]` is `f32[5, 17]`.
    pub const min: &str = "min(x: number[..]) -> number[...]";

    /// ```text
    /// minimum(a: number[...], b: number[...]) -> number[...]
    /// ```
    ///
    /// The smaller of two elements; NaN if either is.
    ///
    /// In PyTorch `torch.minimum`, in ONNX `Min`.
    ///
    /// Example: `minimum(a, b)` of `a: f32[5, 7]`, `b: f32[5, 7]` is `f32[5, 7]`.
    pub const minimum: &str = "minimum(a: number[...], b: number[...]) -> number[...]";

    /// ```text
    /// mish(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x · tanh(ln(1 + eˣ))` (Misra 2019).
    ///
    /// In PyTorch `torch.nn.functional.mish`, in ONNX `Mish`.
    ///
    /// Example: `mish(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const mish: &str = "mish(x: float[..]) -> float[..]";

    /// ```text
    /// mse_loss(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// The mean squared error `mean((input − target)²)`.
    ///
    /// In PyTorch `torch.nn.functional.mse_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    ///
    /// Example: `mse_loss(x, y, reduction = "none")` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5, 7]`.
    pub const mse_loss: &str = "mse_loss(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// mul(a: number[...], b: number[...]) -> number[...]
    /// ```
    ///
    /// The product `a · b`.
    ///
    /// In PyTorch `torch.mul`, in ONNX `Mul`.
    ///
    /// Example: `mul(a, b)` of `a: f32[5, 7]`, `b: f32[5, 7]` is `f32[5, 7]`.
    pub const mul: &str = "mul(a: number[...], b: number[...]) -> number[...]";

    /// ```text
    /// multi_margin_loss(input: float[...], target: int[...]) -> float[...]
    /// ```
    ///
    /// The multi-class hinge loss of each row, `Σ max(margin − input[target] + input[i], 0)ᵖ / classes` over the classes `i` that are not the target. An id that is no class makes the loss NaN.
    ///
    /// In PyTorch `torch.nn.functional.multi_margin_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `p` | an integer | `1` | the power of what is missing: 1 or 2 |
    /// | `margin` | a number | `1` | the distance that is asked for |
    /// | `axis` | an integer | `-1` | the axis of the classes; negative counts from the end |
    /// | `ignore_index` | an integer |  | a class id that does not take part, in the loss or in the mean |
    ///
    /// Example: `multi_margin_loss(x, y, reduction = "none", p = 2)` of `x: f32[5, 7]`, `y: u32[5]` is `f32[5]`.
    pub const multi_margin_loss: &str = "multi_margin_loss(input: float[...], target: int[...]) -> float[...]";

    /// ```text
    /// ne(a: any[...], b: any[...]) -> bool[...]
    /// ```
    ///
    /// Whether `a ≠ b`.
    ///
    /// In PyTorch `torch.ne`.
    ///
    /// Example: `ne(a, b)` of `a: i32[5, 7]`, `b: i32[5, 7]` is `bool[5, 7]`.
    pub const ne: &str = "ne(a: any[...], b: any[...]) -> bool[...]";

    /// ```text
    /// neg(x: signed[..]) -> signed[..]
    /// ```
    ///
    /// The negative `−x`.
    ///
    /// In PyTorch `torch.neg`, in ONNX `Neg`.
    ///
    /// Example: `neg(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const neg: &str = "neg(x: signed[..]) -> signed[..]";

    /// ```text
    /// nll_loss(input: float[...], target: int[...], weight: float[_]?) -> float[...]
    /// ```
    ///
    /// The negative log likelihood `−weight[target] · input[target]` of class ids, from logarithms of probabilities such as `log_softmax` gives; the weight, which may be left out, is a number for each class. An id that is no class makes the loss NaN. The mean is over the rows, or over the sum of their weights.
    ///
    /// In PyTorch `torch.nn.functional.nll_loss`, in ONNX `NegativeLogLikelihoodLoss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `axis` | an integer | `-1` | the axis of the classes; negative counts from the end |
    /// | `ignore_index` | an integer |  | a class id that does not take part, in the loss or in the mean |
    ///
    /// Example: `nll_loss(x, y, reduction = "none")` of `x: f32[5, 7]`, `y: u32[5]` is `f32[5]`.
    pub const nll_loss: &str = "nll_loss(input: float[...], target: int[...], weight: float[_]?) -> float[...]";

    /// ```text
    /// norm(x: float[..]) -> float[...]
    /// ```
    ///
    /// The length `(Σ |x|ᵖ)^(1/p)` over the axes; the derivative at 0 is 0.
    ///
    /// In PyTorch `torch.linalg.vector_norm`, in ONNX `ReduceL2`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `p` | a number | `2` | the exponent, at least 1 |
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `norm(x, axis = 1)` of `x: f32[5, 7, 17]` is `f32[5, 17]`.
    pub const norm: &str = "norm(x: float[..]) -> float[...]";

    /// ```text
    /// normal(key: u32[2]?) -> float[...]
    /// ```
    ///
    /// Standard normal random numbers. The same key gives the same numbers on every device; in training it may be left out, and each step draws others.
    ///
    /// In PyTorch `torch.randn`, in ONNX `RandomNormal`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | the extents of the result |
    ///
    /// Example: `normal(k, [5, 7])` of `k: u32[2]` is `f32[5, 7]`.
    pub const normal: &str = "normal(key: u32[2]?) -> float[...]";

    /// ```text
    /// normalize(x: float[..]) -> float[..]
    /// ```
    ///
    /// Vectors of length 1: `x / max(norm(x, p), eps)` along an axis.
    ///
    /// In PyTorch `torch.nn.functional.normalize`, in ONNX `LpNormalization`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `p` | a number | `2` | the exponent, at least 1 |
    /// | `axis` | an integer | `-1` | the axis of the vectors; negative counts from the end |
    /// | `eps` | a number | `1e-12` | the least length that is divided by |
    ///
    /// Example: `normalize(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const normalize: &str = "normalize(x: float[..]) -> float[..]";

    /// ```text
    /// one_hot(index: int[..]) -> *
    /// ```
    ///
    /// 1 at the index and 0 elsewhere along a new last axis; all 0 where the index is outside.
    ///
    /// In PyTorch `torch.nn.functional.one_hot`, in ONNX `OneHot`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `classes` | an extent | required | the extent of the new last axis |
    /// | `dtype` | `"f32"`, `"f64"`, `"f16"`, `"bf16"`, `"f8e4m3"`, `"i8"`, `"u8"`, `"i16"`, `"u16"`, `"i32"`, `"u32"`, `"i64"`, `"u64"`, `"bool"` |  | the element type of the result; that of the parameters where it is not given |
    ///
    /// Example: `one_hot(i, 7)` of `i: u32[5]` is `f32[5, 7]`.
    pub const one_hot: &str = "one_hot(index: int[..]) -> *";

    /// ```text
    /// ones() -> *
    /// ```
    ///
    /// A tensor of ones.
    ///
    /// In PyTorch `torch.ones`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | the extents of the result |
    /// | `dtype` | `"f32"`, `"f64"`, `"f16"`, `"bf16"`, `"f8e4m3"`, `"i8"`, `"u8"`, `"i16"`, `"u16"`, `"i32"`, `"u32"`, `"i64"`, `"u64"`, `"bool"` |  | the element type of the result; that of the parameters where it is not given |
    ///
    /// Example: `mul(x, ones(5, 7))` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const ones: &str = "ones() -> *";

    /// ```text
    /// outer(a: number[.., N], b: number[.., M]) -> number[.., N, M]
    /// ```
    ///
    /// The outer product `a[.., i] · b[.., j]` of the last axes; the other axes are equal.
    ///
    /// In PyTorch `torch.outer`.
    ///
    /// Example: `outer(x, y)` of `x: f32[5]`, `y: f32[7]` is `f32[5, 7]`.
    pub const outer: &str = "outer(a: number[.., N], b: number[.., M]) -> number[.., N, M]";

    /// ```text
    /// pad(x: any[...]) -> any[...]
    /// ```
    ///
    /// Surrounds axes with a value, or with elements of `x` as PyTorch's modes of the same names do.
    ///
    /// In PyTorch `torch.nn.functional.pad`, in ONNX `Pad`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `low` | integers, one for each axis or one for all | `0` | elements before the axes, one number for each or one for all; negative crops |
    /// | `high` | integers, one for each axis or one for all | `0` | elements after the axes; negative crops |
    /// | `axis` | integers, one for each axis or one for all |  | the padded axes; all where absent |
    /// | `value` | a number | `0` | what the new elements are in mode "constant" |
    /// | `mode` | `"constant"`, `"reflect"`, `"replicate"`, `"circular"` | `"constant"` | where new elements come from: `value`, the mirror image about the outermost element, that element, or the other end |
    ///
    /// Example: `pad(x, 1, 2)` of `x: f32[5, 7]` is `f32[8, 10]`.
    pub const pad: &str = "pad(x: any[...]) -> any[...]";

    /// ```text
    /// pairwise_distance(a: float[.., N], b: float[.., N]) -> float[..]
    /// ```
    ///
    /// The distance `norm(a − b + eps, p)` of vectors along the last axis, as PyTorch's.
    ///
    /// In PyTorch `torch.nn.functional.pairwise_distance`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `p` | a number | `2` | the exponent, at least 1 |
    /// | `eps` | a number | `1e-6` | added to every difference |
    ///
    /// Example: `pairwise_distance(x, y)` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5]`.
    pub const pairwise_distance: &str = "pairwise_distance(a: float[.., N], b: float[.., N]) -> float[..]";

    /// ```text
    /// pixel_shuffle(x: any[.., Channels, Height, Width]) -> any[.., _, _, _]
    /// ```
    ///
    /// `y[c, h · r + i, w · r + j] = x[(c · r + i) · r + j, h, w]` for `r = upscale_factor` (Shi et al. 2016).
    ///
    /// In PyTorch `torch.nn.functional.pixel_shuffle`, in ONNX `DepthToSpace`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `upscale_factor` | an integer | required | how many times higher and wider the result is |
    ///
    /// Example: `pixel_shuffle(x, 2)` of `x: f32[2, 12, 3, 5]` is `f32[2, 3, 6, 10]`.
    pub const pixel_shuffle: &str = "pixel_shuffle(x: any[.., Channels, Height, Width]) -> any[.., _, _, _]";

    /// ```text
    /// pixel_unshuffle(x: any[.., Channels, Height, Width]) -> any[.., _, _, _]
    /// ```
    ///
    /// The inverse of `pixel_shuffle`: `y[(c · r + i) · r + j, h, w] = x[c, h · r + i, w · r + j]` for `r = downscale_factor`.
    ///
    /// In PyTorch `torch.nn.functional.pixel_unshuffle`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `downscale_factor` | an integer | required | how many times lower and narrower the result is |
    ///
    /// Example: `pixel_unshuffle(x, 2)` of `x: f32[2, 3, 6, 10]` is `f32[2, 12, 3, 5]`.
    pub const pixel_unshuffle: &str = "pixel_unshuffle(x: any[.., Channels, Height, Width]) -> any[.., _, _, _]";

    /// ```text
    /// poisson_nll_loss(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// `e^input − target · input`, the negative log likelihood of counts under a Poisson distribution whose rate is `e^input`, or `input − target · ln(input + eps)` without `log_input`; `full` adds Stirling's approximation of `ln target!` for targets above 1.
    ///
    /// In PyTorch `torch.nn.functional.poisson_nll_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `log_input` | `true` or `false` | `true` | whether `input` is the logarithm of the rate |
    /// | `full` | `true` or `false` | `false` | whether the terms without `input` are added |
    /// | `eps` | a number | `1e-8` | added to a rate before its logarithm is taken |
    ///
    /// Example: `poisson_nll_loss(x, y, reduction = "none", log_input = false, full = true)` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5, 7]`.
    pub const poisson_nll_loss: &str = "poisson_nll_loss(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// pow(a: float[...], b: float[...]) -> float[...]
    /// ```
    ///
    /// The power `aᵇ`. A literal integer `b` up to 8 makes it products, so that any `a` is allowed.
    ///
    /// In PyTorch `torch.pow`, in ONNX `Pow`.
    ///
    /// Example: `pow(a, b)` of `a: f32[5, 7]`, `b: f32[5, 7]` is `f32[5, 7]`.
    pub const pow: &str = "pow(a: float[...], b: float[...]) -> float[...]";

    /// ```text
    /// prelu(x: float[...], weight: float[Slopes]) -> float[...]
    /// ```
    ///
    /// `x` above zero and `weight · x` elsewhere, with one weight for all elements or one for each position of axis 1, the channels (He et al. 2015).
    ///
    /// In PyTorch `torch.nn.functional.prelu`, in ONNX `PRelu`.
    ///
    /// Example: `prelu(x, w)` of `x: f32[5, 7]`, `w: f32[7]` is `f32[5, 7]`.
    pub const prelu: &str = "prelu(x: float[...], weight: float[Slopes]) -> float[...]";

    /// ```text
    /// prod(x: number[..]) -> wide[...]
    /// ```
    ///
    /// The product over the axes.
    ///
    /// In PyTorch `torch.prod`, in ONNX `ReduceProd`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `prod(x, axis = 1)` of `x: f32[5, 7, 17]` is `f32[5, 17]`.
    pub const prod: &str = "prod(x: number[..]) -> wide[...]";

    /// ```text
    /// reciprocal(x: float[..]) -> float[..]
    /// ```
    ///
    /// The reciprocal `1/x`.
    ///
    /// In PyTorch `torch.reciprocal`, in ONNX `Reciprocal`.
    ///
    /// Example: `reciprocal(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const reciprocal: &str = "reciprocal(x: float[..]) -> float[..]";

    /// ```text
    /// relu(x: float[..]) -> float[..]
    /// ```
    ///
    /// The rectified linear unit `max(x, 0)`; its derivative at 0 is 0.
    ///
    /// In PyTorch `torch.nn.functional.relu`, in ONNX `Relu`.
    ///
    /// Example: `relu(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const relu: &str = "relu(x: float[..]) -> float[..]";

    /// ```text
    /// relu6(x: float[..]) -> float[..]
    /// ```
    ///
    /// The rectified linear unit up to 6, `min(max(x, 0), 6)` (Krizhevsky 2010).
    ///
    /// In PyTorch `torch.nn.functional.relu6`.
    ///
    /// Example: `relu6(mul(x, full([1], 4)))` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const relu6: &str = "relu6(x: float[..]) -> float[..]";

    /// ```text
    /// rem(a: number[...], b: number[...]) -> number[...]
    /// ```
    ///
    /// The remainder `a − b · trunc(a / b)` without an error, with the sign of `a`, as Rust's `%`; integers give 0 where `b` is 0.
    ///
    /// In PyTorch `torch.fmod`.
    ///
    /// Example: `rem(a, b)` of `a: f32[5, 7]`, `b: f32[5, 7]` is `f32[5, 7]`.
    pub const rem: &str = "rem(a: number[...], b: number[...]) -> number[...]";

    /// ```text
    /// repeat_interleave(x: any[...]) -> any[...]
    /// ```
    ///
    /// Each element of an axis several times in a row.
    ///
    /// In PyTorch `torch.repeat_interleave`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `count` | an extent | required | how often each element stands |
    /// | `axis` | an integer | required | the axis that grows; negative counts from the end |
    ///
    /// Example: `repeat_interleave(x, 3, axis = 1)` of `x: f32[5, 7]` is `f32[5, 21]`.
    pub const repeat_interleave: &str = "repeat_interleave(x: any[...]) -> any[...]";

    /// ```text
    /// reshape(x: any[...]) -> any[...]
    /// ```
    ///
    /// The same elements in row-major order under another shape.
    ///
    /// In PyTorch `torch.reshape`, in ONNX `Reshape`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | the extents of the result; one may be -1, which is what is left |
    ///
    /// Example: `reshape(x, [7, 5])` of `x: f32[5, 7]` is `f32[7, 5]`.
    pub const reshape: &str = "reshape(x: any[...]) -> any[...]";

    /// ```text
    /// rms_norm(x: float[.., Features], weight: float[Features]?) -> float[.., Features]
    /// ```
    ///
    /// `x / √(mean(x²) + eps) · weight` over the last axis (Zhang and Sennrich 2019).
    ///
    /// In PyTorch `torch.nn.functional.rms_norm`, in ONNX `RMSNormalization`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `eps` | a number |  | added to the mean square; where it is not given, the machine epsilon of the type, as PyTorch's |
    ///
    /// Example: `rms_norm(x, w)` of `x: f32[5, 17]`, `w: f32[17]` is `f32[5, 17]`.
    pub const rms_norm: &str = "rms_norm(x: float[.., Features], weight: float[Features]?) -> float[.., Features]";

    /// ```text
    /// rnn(x: float[Batch, Steps, Features], h_0: each[...]?, lengths: each[...]!, weight_ih_l0: each[...]*) -> float*
    /// ```
    ///
    /// The recurrence `h = tanh(x·weight_ihᵀ + bias_ih + h·weight_hhᵀ + bias_hh)` over the middle axis (Elman 1990). Gives the output of every step `[Batch, Steps, directions·hidden]`, and the last `h`, `[layers·directions, Batch, hidden]`, as which a first state may be given; otherwise it is zero. With `lengths = n`, a `u32[Batch]`, sequence `b` ends after `n[b]` steps: later outputs are zero, and last states are those at its end. Between layers, `dropout` of the elements are zero in training.
    ///
    /// In PyTorch `torch.nn.RNN`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `layers` | an integer | `1` | layers, each over the output of the one before |
    /// | `bidirectional` | `true` or `false` | `false` | whether a second state runs backwards in time |
    /// | `bias` | `true` or `false` | `true` | whether learnt offsets are added |
    /// | `dropout` | a number | `0.0` | the probability with which elements between layers are zero in training, from 0 to 1 |
    ///
    /// Example: `rnn(x, v, w, c, d)` of `x: f32[B, 3, 2]`, `v: f32[5, 2]`, `w: f32[5, 5]`, `c: f32[5]`, `d: f32[5]` is `(f32[B, 3, 5], f32[1, B, 5])`.
    pub const rnn: &str = "rnn(x: float[Batch, Steps, Features], h_0: each[...]?, lengths: each[...]!, weight_ih_l0: each[...]*) -> float*";

    /// ```text
    /// roll(x: any[..]) -> any[..]
    /// ```
    ///
    /// Moves elements along an axis; those that leave at one end come back at the other.
    ///
    /// In PyTorch `torch.roll`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shift` | an extent | required | how far elements move; negative towards the front |
    /// | `axis` | an integer | required | the axis along which they move; negative counts from the end |
    ///
    /// Example: `roll(x, -9, axis = 1)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const roll: &str = "roll(x: any[..]) -> any[..]";

    /// ```text
    /// rotary(x: float[.., D], position: int[...]?) -> float[.., D]
    /// ```
    ///
    /// Rotary position embedding (Su et al. 2021): each pair of features turns by an angle that grows with the position. Pairs are `(i, i + d/2)`, as in GPT-NeoX and Llama, or neighbours. `position` broadcasts to the axes before the features: a scalar for one token, `at + iota(T)` for several; without it, it counts along the axis before the features.
    ///
    /// In ONNX `RotaryEmbedding`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `base` | a number | `10000.0` | pair `i` of `d/2` turns by `position / base^(2i/d)` |
    /// | `interleaved` | `true` or `false` | `false` | whether pairs are neighbours: `(2i, 2i + 1)` |
    ///
    /// Example: `rotary(x)` of `x: f32[2, 5, 8]` is `f32[2, 5, 8]`.
    pub const rotary: &str = "rotary(x: float[.., D], position: int[...]?) -> float[.., D]";

    /// ```text
    /// round(x: float[..]) -> float[..]
    /// ```
    ///
    /// Rounded to the nearest integer, ties to even; its derivative is 0.
    ///
    /// In PyTorch `torch.round`, in ONNX `Round`.
    ///
    /// Example: `round(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const round: &str = "round(x: float[..]) -> float[..]";

    /// ```text
    /// rsqrt(x: float[..]) -> float[..]
    /// ```
    ///
    /// The reciprocal square root `1/√x`.
    ///
    /// In PyTorch `torch.rsqrt`.
    ///
    /// Example: `rsqrt(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const rsqrt: &str = "rsqrt(x: float[..]) -> float[..]";

    /// ```text
    /// scatter_add(x: number[...], index: int[..], updates: number[..]) -> number[...]
    /// ```
    ///
    /// `x` with each update added at its index: `result[i, index[i, j]] += updates[i, j]` for axis 1, and so on, as PyTorch's: all other axes run along. An index outside of the axis is dropped.
    ///
    /// In PyTorch `torch.scatter_add`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | required | the indexed axis; negative counts from the end |
    ///
    /// Example: `scatter_add(x, i, u, axis = 1)` of `x: f32[5, 7]`, `i: u32[5, 3]`, `u: f32[5, 3]` is `f32[5, 7]`.
    pub const scatter_add: &str = "scatter_add(x: number[...], index: int[..], updates: number[..]) -> number[...]";

    /// ```text
    /// segment_mean(x: float[Count, ..], segments: int[Count]) -> float*
    /// ```
    ///
    /// The mean of the slices of the first axis that belong to each segment, 0 for one without any; a segment number outside is dropped.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `count` | an extent | required | the number of segments |
    ///
    /// Example: `segment_mean(x, i, 6)` of `x: f32[9, 7]`, `i: u32[9]` is `f32[6, 7]`.
    pub const segment_mean: &str = "segment_mean(x: float[Count, ..], segments: int[Count]) -> float*";

    /// ```text
    /// segment_sum(x: number[Count, ..], segments: int[Count]) -> wide*
    /// ```
    ///
    /// The sum of the slices of the first axis that belong to each segment, 0 for one without any; a segment number outside is dropped.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `count` | an extent | required | the number of segments |
    ///
    /// Example: `segment_sum(x, i, 5)` of `x: f32[9, 7]`, `i: u32[9]` is `f32[5, 7]`.
    pub const segment_sum: &str = "segment_sum(x: number[Count, ..], segments: int[Count]) -> wide*";

    /// ```text
    /// selu(x: float[..]) -> float[..]
    /// ```
    ///
    /// The scaled `elu` that keeps mean 0 and variance 1: 1.0507 times `elu(x, alpha = 1.6733)` (Klambauer et al. 2017).
    ///
    /// In PyTorch `torch.nn.functional.selu`, in ONNX `Selu`.
    ///
    /// Example: `selu(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const selu: &str = "selu(x: float[..]) -> float[..]";

    /// ```text
    /// sigmoid(x: float[..]) -> float[..]
    /// ```
    ///
    /// The logistic function `1/(1 + e⁻ˣ)`.
    ///
    /// In PyTorch `torch.sigmoid`, in ONNX `Sigmoid`.
    ///
    /// Example: `sigmoid(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const sigmoid: &str = "sigmoid(x: float[..]) -> float[..]";

    /// ```text
    /// sign(x: signed[..]) -> signed[..]
    /// ```
    ///
    /// −1, 0 or 1 by the sign of `x`; its derivative is 0.
    ///
    /// In PyTorch `torch.sign`, in ONNX `Sign`.
    ///
    /// Example: `sign(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const sign: &str = "sign(x: signed[..]) -> signed[..]";

    /// ```text
    /// silu(x: float[..]) -> float[..]
    /// ```
    ///
    /// The sigmoid linear unit `x / (1 + e⁻ˣ)` (Elfwing, Uchibe and Doya 2017).
    ///
    /// In PyTorch `torch.nn.functional.silu`.
    ///
    /// Example: `silu(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const silu: &str = "silu(x: float[..]) -> float[..]";

    /// ```text
    /// sin(x: float[..]) -> float[..]
    /// ```
    ///
    /// The sine of `x` radians.
    ///
    /// In PyTorch `torch.sin`, in ONNX `Sin`.
    ///
    /// Example: `sin(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const sin: &str = "sin(x: float[..]) -> float[..]";

    /// ```text
    /// sinh(x: float[..]) -> float[..]
    /// ```
    ///
    /// The hyperbolic sine `(eˣ − e⁻ˣ)/2`, accurate near zero.
    ///
    /// In PyTorch `torch.sinh`, in ONNX `Sinh`.
    ///
    /// Example: `sinh(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const sinh: &str = "sinh(x: float[..]) -> float[..]";

    /// ```text
    /// slice(x: any[...]) -> any[...]
    /// ```
    ///
    /// The elements from `start` up to `end`, which is left out, of one or several axes; `x[2..5, ..]` means it.
    ///
    /// In PyTorch `torch.narrow`, in ONNX `Slice`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `start` | integers, one for each axis or one for all | `0` | the first element; negative counts from the end |
    /// | `end` | integers, one for each axis or one for all |  | one past the last element; negative counts from the end; to the end where absent |
    /// | `axis` | integers, one for each axis or one for all | `0` | the cut axes; `start`, `end` and `step` then have one number for each, or one for all |
    /// | `step` | integers, one for each axis or one for all | `1` | from one element to the next |
    ///
    /// Example: `slice(x, 1, 6, axis = 1)` of `x: f32[5, 7]` is `f32[5, 5]`.
    pub const slice: &str = "slice(x: any[...]) -> any[...]";

    /// ```text
    /// smooth_l1_loss(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// `e²/(2 · beta)` for errors `e` up to `beta` and `|e| − beta/2` beyond (Girshick 2015): `huber_loss` divided by its `delta`.
    ///
    /// In PyTorch `torch.nn.functional.smooth_l1_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `beta` | a number | `1` | the error beyond which it grows linearly; positive |
    ///
    /// Example: `smooth_l1_loss(x, y, reduction = "none", beta = 0.5)` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[5, 7]`.
    pub const smooth_l1_loss: &str = "smooth_l1_loss(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// soft_margin_loss(input: float[..], target: float[..]) -> float[...]
    /// ```
    ///
    /// `ln(1 + e^(−target · input))` with targets of 1 and −1.
    ///
    /// In PyTorch `torch.nn.functional.soft_margin_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    ///
    /// Example: `soft_margin_loss(x, sign(t), reduction = "none")` of `x: f32[5, 7]`, `t: f32[5, 7]` is `f32[5, 7]`.
    pub const soft_margin_loss: &str = "soft_margin_loss(input: float[..], target: float[..]) -> float[...]";

    /// ```text
    /// softmax(x: float[..]) -> float[..]
    /// ```
    ///
    /// `exp(x) / Σ exp(x)` along an axis, shifted by the maximum so that it does not overflow.
    ///
    /// In PyTorch `torch.nn.functional.softmax`, in ONNX `Softmax`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis that sums to one; negative counts from the end |
    ///
    /// Example: `softmax(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const softmax: &str = "softmax(x: float[..]) -> float[..]";

    /// ```text
    /// softmin(x: float[..]) -> float[..]
    /// ```
    ///
    /// `exp(−x) / Σ exp(−x)` along an axis: `softmax` of `−x`.
    ///
    /// In PyTorch `torch.nn.functional.softmin`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis that sums to one; negative counts from the end |
    ///
    /// Example: `softmin(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const softmin: &str = "softmin(x: float[..]) -> float[..]";

    /// ```text
    /// softplus(x: float[..]) -> float[..]
    /// ```
    ///
    /// `ln(1 + eˣ)`, as `max(x, 0) + ln(1 + e^−|x|)`, which neither overflows nor rounds to zero early.
    ///
    /// In PyTorch `torch.nn.functional.softplus`, in ONNX `Softplus`.
    ///
    /// Example: `softplus(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const softplus: &str = "softplus(x: float[..]) -> float[..]";

    /// ```text
    /// softshrink(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x` drawn towards 0 by `lambd`, and 0 where it is no larger than that: the proximal map of `lambd · |x|`.
    ///
    /// In PyTorch `torch.nn.functional.softshrink`, in ONNX `Shrink`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `lambd` | a number | `0.5` | numbers up to this size give 0; not negative |
    ///
    /// Example: `softshrink(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const softshrink: &str = "softshrink(x: float[..]) -> float[..]";

    /// ```text
    /// softsign(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x / (1 + |x|)` (Turian, Bergstra and Bengio 2009).
    ///
    /// In PyTorch `torch.nn.functional.softsign`, in ONNX `Softsign`.
    ///
    /// Example: `softsign(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const softsign: &str = "softsign(x: float[..]) -> float[..]";

    /// ```text
    /// sort(x: number[..]) -> number[..]
    /// ```
    ///
    /// The elements in ascending order; NaN counts as larger than all numbers. `argsort` gives their positions.
    ///
    /// In PyTorch `torch.sort`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the axis that is ordered; negative counts from the end |
    /// | `descending` | `true` or `false` | `false` | whether the largest element comes first |
    ///
    /// Example: `sort(x, descending = true)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const sort: &str = "sort(x: number[..]) -> number[..]";

    /// ```text
    /// split(x: any[...]) -> *
    /// ```
    ///
    /// Equal parts of an axis, by default the last: `let (a, b) = split(x, 2);`.
    ///
    /// In PyTorch `torch.chunk`, in ONNX `Split`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `parts` | an integer | required | how many equal parts |
    /// | `axis` | an integer | `-1` | the axis that is cut; negative counts from the end |
    ///
    /// Example: `split(x, 3)` of `x: f32[5, 21]` is `(f32[5, 7], f32[5, 7], f32[5, 7])`.
    pub const split: &str = "split(x: any[...]) -> *";

    /// ```text
    /// split_key(key: u32[2]) -> *
    /// ```
    ///
    /// Keys whose draws are independent of each other and of those of `key`: `let (a, b) = split_key(key, 2);`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `count` | an integer | required | how many keys |
    ///
    /// Example: `split_key(k, 2)` of `k: u32[2]` is `(u32[2], u32[2])`.
    pub const split_key: &str = "split_key(key: u32[2]) -> *";

    /// ```text
    /// sqrt(x: float[..]) -> float[..]
    /// ```
    ///
    /// The square root; NaN below zero.
    ///
    /// In PyTorch `torch.sqrt`, in ONNX `Sqrt`.
    ///
    /// Example: `sqrt(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const sqrt: &str = "sqrt(x: float[..]) -> float[..]";

    /// ```text
    /// square(x: number[..]) -> number[..]
    /// ```
    ///
    /// The square `x²`.
    ///
    /// In PyTorch `torch.square`.
    ///
    /// Example: `square(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const square: &str = "square(x: number[..]) -> number[..]";

    /// ```text
    /// squareplus(x: float[..]) -> float[..]
    /// ```
    ///
    /// `(x + √(x² + 4)) / 2` (Barron 2021).
    ///
    /// Example: `squareplus(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const squareplus: &str = "squareplus(x: float[..]) -> float[..]";

    /// ```text
    /// squeeze(x: any[...]) -> any[...]
    /// ```
    ///
    /// Drops axes of extent 1.
    ///
    /// In PyTorch `torch.squeeze`, in ONNX `Squeeze`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the axes to drop; where absent, every axis whose extent is 1 |
    ///
    /// Example: `squeeze(x)` of `x: f32[5, 1, 7, 1]` is `f32[5, 7]`.
    pub const squeeze: &str = "squeeze(x: any[...]) -> any[...]";

    /// ```text
    /// stack(x: any[...]*) -> any[...]
    /// ```
    ///
    /// Joins tensors of one shape along a new axis.
    ///
    /// In PyTorch `torch.stack`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `0` | where the new axis stands in the result; negative counts from the end |
    ///
    /// Example: `stack(x, y)` of `x: f32[5, 7]`, `y: f32[5, 7]` is `f32[2, 5, 7]`.
    pub const stack: &str = "stack(x: any[...]*) -> any[...]";

    /// ```text
    /// std(x: float[..]) -> float[...]
    /// ```
    ///
    /// The standard deviation `√var(x)` over the axes; the derivative of equal elements is 0.
    ///
    /// In PyTorch `torch.std`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    /// | `correction` | a number | `1` | subtracted from the count: 1 for a sample (Bessel), 0 for a population |
    ///
    /// Example: `std(x, axis = 1)` of `x: f32[5, 7, 17]` is `f32[5, 17]`.
    pub const std: &str = "std(x: float[..]) -> float[...]";

    /// ```text
    /// sub(a: number[...], b: number[...]) -> number[...]
    /// ```
    ///
    /// The difference `a − b`.
    ///
    /// In PyTorch `torch.sub`, in ONNX `Sub`.
    ///
    /// Example: `sub(a, b)` of `a: f32[5, 7]`, `b: f32[5, 7]` is `f32[5, 7]`.
    pub const sub: &str = "sub(a: number[...], b: number[...]) -> number[...]";

    /// ```text
    /// sum(x: number[..]) -> wide[...]
    /// ```
    ///
    /// The sum over the axes.
    ///
    /// In PyTorch `torch.sum`, in ONNX `ReduceSum`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    ///
    /// Example: `sum(x, axis = 1)` of `x: f32[5, 7, 17]` is `f32[5, 17]`.
    pub const sum: &str = "sum(x: number[..]) -> wide[...]";

    /// ```text
    /// swiglu(x: float[...]) -> float[...]
    /// ```
    ///
    /// `silu(u) · v` of the halves `u`, `v` of an axis: the gate is the first (Shazeer 2020).
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `-1` | the halved axis; negative counts from the end |
    ///
    /// Example: `swiglu(x)` of `x: f32[5, 14]` is `f32[5, 7]`.
    pub const swiglu: &str = "swiglu(x: float[...]) -> float[...]";

    /// ```text
    /// take(x: any[...], index: int[...]) -> any[...]
    /// ```
    ///
    /// The slices of `x` at positions of an axis: the axes of `index` stand in its place. An index outside of the axis gives NaN, or 0 for integers, and gets no gradient.
    ///
    /// In PyTorch `torch.index_select`, in ONNX `Gather`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `0` | the indexed axis; negative counts from the end |
    ///
    /// Example: `take(x, i)` of `x: f32[5, 7]`, `i: u32[3, 2]` is `f32[3, 2, 7]`.
    pub const take: &str = "take(x: any[...], index: int[...]) -> any[...]";

    /// ```text
    /// tan(x: float[..]) -> float[..]
    /// ```
    ///
    /// The tangent of `x` radians.
    ///
    /// In PyTorch `torch.tan`, in ONNX `Tan`.
    ///
    /// Example: `tan(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const tan: &str = "tan(x: float[..]) -> float[..]";

    /// ```text
    /// tanh(x: float[..]) -> float[..]
    /// ```
    ///
    /// The hyperbolic tangent.
    ///
    /// In PyTorch `torch.tanh`, in ONNX `Tanh`.
    ///
    /// Example: `tanh(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const tanh: &str = "tanh(x: float[..]) -> float[..]";

    /// ```text
    /// tanhshrink(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x − tanh(x)`.
    ///
    /// In PyTorch `torch.nn.functional.tanhshrink`.
    ///
    /// Example: `tanhshrink(x)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const tanhshrink: &str = "tanhshrink(x: float[..]) -> float[..]";

    /// ```text
    /// threshold(x: float[..]) -> float[..]
    /// ```
    ///
    /// `x` where it is above the threshold and `value` elsewhere.
    ///
    /// In PyTorch `torch.nn.functional.threshold`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `threshold` | a number | required | numbers above it stay |
    /// | `value` | a number | required | what the others become |
    ///
    /// Example: `threshold(x, 0.2, -3.0)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const threshold: &str = "threshold(x: float[..]) -> float[..]";

    /// ```text
    /// tile(x: any[...]) -> any[...]
    /// ```
    ///
    /// `x` laid side by side, as PyTorch's `repeat` and NumPy's `tile`.
    ///
    /// In PyTorch `torch.tile`, in ONNX `Tile`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `counts` | extents | required | how often each axis repeats; new axes stand in front |
    ///
    /// Example: `tile(x, [2, 3])` of `x: f32[5, 7]` is `f32[10, 21]`.
    pub const tile: &str = "tile(x: any[...]) -> any[...]";

    /// ```text
    /// top_k(x: number[..]) -> (number[...], u32[...])
    /// ```
    ///
    /// The `k` largest elements of an axis in descending order, and their positions; of equal ones the first come first.
    ///
    /// In PyTorch `torch.topk`, in ONNX `TopK`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `k` | an extent | required | how many |
    /// | `axis` | an integer | `-1` | the axis that is ordered; negative counts from the end |
    /// | `largest` | `true` or `false` | `true` | whether the largest are wanted, or the smallest |
    ///
    /// Example: `top_k(x, 3)` of `x: f32[5, 7]` is `(f32[5, 3], u32[5, 3])`.
    pub const top_k: &str = "top_k(x: number[..]) -> (number[...], u32[...])";

    /// ```text
    /// trace(x: number[.., N, N]) -> wide[..]
    /// ```
    ///
    /// The sum of the main diagonal of square matrices over the last two axes.
    ///
    /// In PyTorch `torch.trace`.
    ///
    /// Example: `trace(x)` of `x: f32[7, 7]` is `f32`.
    pub const trace: &str = "trace(x: number[.., N, N]) -> wide[..]";

    /// ```text
    /// transpose(x: any[...]) -> any[...]
    /// ```
    ///
    /// Axis `i` of the result is axis `axes[i]` of `x`; by default the last two change places.
    ///
    /// In PyTorch `torch.permute`, in ONNX `Transpose`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axes` | extents |  | for each axis of the result, the axis of `x`; where absent, the last two change places |
    ///
    /// Example: `transpose(x)` of `x: f32[5, 7, 17]` is `f32[5, 17, 7]`.
    pub const transpose: &str = "transpose(x: any[...]) -> any[...]";

    /// ```text
    /// transposed_linear(x: float[.., Features], weight: float[Features, Outputs], bias: float[Outputs]?) -> float[.., Outputs]
    /// ```
    ///
    /// `x · weight + bias` over the last axis.
    ///
    /// In PyTorch `torch.addmm`.
    ///
    /// Example: `transposed_linear(x, w, c)` of `x: f32[5, 7]`, `w: f32[7, 17]`, `c: f32[17]` is `f32[5, 17]`.
    pub const transposed_linear: &str = "transposed_linear(x: float[.., Features], weight: float[Features, Outputs], bias: float[Outputs]?) -> float[.., Outputs]";

    /// ```text
    /// tril(x: number[.., _, _]) -> number[...]
    /// ```
    ///
    /// The lower triangle of matrices over the last two axes, up to a diagonal; 0 elsewhere.
    ///
    /// In PyTorch `torch.tril`, in ONNX `Trilu`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `diagonal` | an integer | `0` | how far the last diagonal that stays lies above the main one |
    ///
    /// Example: `tril(x, -1)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const tril: &str = "tril(x: number[.., _, _]) -> number[...]";

    /// ```text
    /// triplet_margin_loss(anchor: float[.., N], positive: float[.., N], negative: float[.., N]) -> float[...]
    /// ```
    ///
    /// `max(d(anchor, positive) − d(anchor, negative) + margin, 0)` with the distances of `pairwise_distance`; with `swap` the second is the smaller of the two distances to the negative (Balntas et al. 2016).
    ///
    /// In PyTorch `torch.nn.functional.triplet_margin_loss`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `reduction` | `"mean"`, `"sum"`, `"none"` | `"mean"` | "mean" or "sum" over all elements, or "none" |
    /// | `margin` | a number | `1` | the distance that is asked for |
    /// | `p` | a number | `2` | the exponent, at least 1 |
    /// | `eps` | a number | `1e-6` | added to every difference |
    /// | `swap` | `true` or `false` | `false` | whether the negative may be closer to the positive |
    ///
    /// Example: `triplet_margin_loss(x, y, z, reduction = "none", swap = true)` of `x: f32[5, 7]`, `y: f32[5, 7]`, `z: f32[5, 7]` is `f32[5]`.
    pub const triplet_margin_loss: &str = "triplet_margin_loss(anchor: float[.., N], positive: float[.., N], negative: float[.., N]) -> float[...]";

    /// ```text
    /// triu(x: number[.., _, _]) -> number[...]
    /// ```
    ///
    /// The upper triangle of matrices over the last two axes, from a diagonal; 0 elsewhere.
    ///
    /// In PyTorch `torch.triu`, in ONNX `Trilu`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `diagonal` | an integer | `0` | how far the first diagonal that stays lies above the main one |
    ///
    /// Example: `triu(x, 2)` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const triu: &str = "triu(x: number[.., _, _]) -> number[...]";

    /// ```text
    /// u16(x: any[..]) -> u16[..]
    /// ```
    ///
    /// The same as `cast(x, "u16")`.
    ///
    /// Example: `u16(x)` of `x: u32[5, 7]` is `u16[5, 7]`.
    pub const u16: &str = "u16(x: any[..]) -> u16[..]";

    /// ```text
    /// u32(x: any[..]) -> u32[..]
    /// ```
    ///
    /// The same as `cast(x, "u32")`.
    ///
    /// Example: `u32(x)` of `x: i32[5, 7]` is `u32[5, 7]`.
    pub const u32: &str = "u32(x: any[..]) -> u32[..]";

    /// ```text
    /// u64(x: any[..]) -> u64[..]
    /// ```
    ///
    /// The same as `cast(x, "u64")`.
    ///
    /// Example: `u64(x)` of `x: i32[5, 7]` is `u64[5, 7]`.
    pub const u64: &str = "u64(x: any[..]) -> u64[..]";

    /// ```text
    /// u8(x: any[..]) -> u8[..]
    /// ```
    ///
    /// The same as `cast(x, "u8")`.
    ///
    /// Example: `u8(x)` of `x: u32[5, 7]` is `u8[5, 7]`.
    pub const u8: &str = "u8(x: any[..]) -> u8[..]";

    /// ```text
    /// unbind(x: any[...]) -> *
    /// ```
    ///
    /// The slices of an axis, each without it: `let (x, y) = unbind(points, axis = 1);`. `stack` puts them together.
    ///
    /// In PyTorch `torch.unbind`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | `0` | the axis that is taken apart; negative counts from the end |
    ///
    /// Example: `unbind(x)` of `x: f32[2, 7]` is `(f32[7], f32[7])`.
    pub const unbind: &str = "unbind(x: any[...]) -> *";

    /// ```text
    /// uniform(key: u32[2]?) -> float[...]
    /// ```
    ///
    /// Uniform random numbers from `low` up to `high`, in 2²⁴ steps. The same key gives the same numbers on every device; in training it may be left out, and each step draws others.
    ///
    /// In PyTorch `torch.rand`, in ONNX `RandomUniform`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | the extents of the result |
    /// | `low` | a number | `0` | the least number |
    /// | `high` | a number | `1` | the numbers stay below it, up to rounding |
    ///
    /// Example: `uniform(k, [5, 7], low = -1)` of `k: u32[2]` is `f32[5, 7]`.
    pub const uniform: &str = "uniform(key: u32[2]?) -> float[...]";

    /// ```text
    /// unsqueeze(x: any[...]) -> any[...]
    /// ```
    ///
    /// Inserts an axis of extent 1.
    ///
    /// In PyTorch `torch.unsqueeze`, in ONNX `Unsqueeze`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | an integer | required | where the new axis stands in the result; negative counts from the end |
    ///
    /// Example: `unsqueeze(x, 1)` of `x: f32[5, 7]` is `f32[5, 1, 7]`.
    pub const unsqueeze: &str = "unsqueeze(x: any[...]) -> any[...]";

    /// ```text
    /// upsample(x: float[Batch, Channels, ..]) -> float[...]
    /// ```
    ///
    /// Resizes the axes after the second, with the coordinates of PyTorch's `interpolate`: element `i` of `n` lies at `⌊i · extent / n⌋` (nearest), `(i + ½) · extent / n − ½` (linear), or `i · (extent − 1) / (n − 1)` where corners are aligned.
    ///
    /// In PyTorch `torch.nn.functional.interpolate`, in ONNX `Resize`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `scale_factor` | integers, one for each axis or one for all |  | how many times larger each axis after the second becomes |
    /// | `mode` | `"nearest"`, `"linear"`, `"bilinear"` | `"nearest"` | the nearest element before, or means of two neighbours along one axis (linear) or two (bilinear) |
    /// | `align_corners` | `true` or `false` | `false` | whether the first and last elements, and not the borders, of both sides lie on each other |
    /// | `size` | integers, one for each axis or one for all |  | the extents of the result, instead of a factor |
    ///
    /// Example: `upsample(x, 2)` of `x: f32[2, 3, 3, 5]` is `f32[2, 3, 6, 10]`.
    pub const upsample: &str = "upsample(x: float[Batch, Channels, ..]) -> float[...]";

    /// ```text
    /// var(x: float[..]) -> float[...]
    /// ```
    ///
    /// The variance `Σ (x − mean)² / (n − correction)` over the axes, in two passes.
    ///
    /// In PyTorch `torch.var`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `axis` | integers, one for each axis or one for all |  | the reduced axis; negative counts from the end; all where none is given |
    /// | `axes` | integers, one for each axis or one for all |  | several reduced axes |
    /// | `keepdims` | `true` or `false` | `false` | whether reduced axes stay with extent 1 |
    /// | `correction` | a number | `1` | subtracted from the count: 1 for a sample (Bessel), 0 for a population |
    ///
    /// Example: `var(x, axis = 1)` of `x: f32[5, 7, 17]` is `f32[5, 17]`.
    pub const var: &str = "var(x: float[..]) -> float[...]";

    /// ```text
    /// where(condition: bool[...], a: any[...], b: any[...]) -> any[...]
    /// ```
    ///
    /// `a` where the condition holds and `b` elsewhere; all three broadcast. A branch that is not taken gets a gradient of 0. Where that meets a slope that is not finite, as that of `sqrt` at 0, their product is NaN, as in PyTorch: bound what such a branch is computed from.
    ///
    /// In PyTorch `torch.where`, in ONNX `Where`.
    ///
    /// Example: `where(c, x, y)` of `c: bool[5, 7]`, `x: f32[5, 7]`, `y: f32[7]` is `f32[5, 7]`.
    pub const r#where: &str = "where(condition: bool[...], a: any[...], b: any[...]) -> any[...]";

    /// ```text
    /// zeros() -> *
    /// ```
    ///
    /// A tensor of zeros.
    ///
    /// In PyTorch `torch.zeros`.
    ///
    /// | attribute | takes | default | meaning |
    /// |---|---|---|---|
    /// | `shape` | extents | required | the extents of the result |
    /// | `dtype` | `"f32"`, `"f64"`, `"f16"`, `"bf16"`, `"f8e4m3"`, `"i8"`, `"u8"`, `"i16"`, `"u16"`, `"i32"`, `"u32"`, `"i64"`, `"u64"`, `"bool"` |  | the element type of the result; that of the parameters where it is not given |
    ///
    /// Example: `add(x, zeros([5, 7]))` of `x: f32[5, 7]` is `f32[5, 7]`.
    pub const zeros: &str = "zeros() -> *";
}

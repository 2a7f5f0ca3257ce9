//! The ahead-of-time compiler behind `model!`.

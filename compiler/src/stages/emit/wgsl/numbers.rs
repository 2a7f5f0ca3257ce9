//! Whether the numbers in a text are such of WGSL.

/// Whether all integers in a text are such of WGSL: of 31 bits, or 32 behind a `u`.
pub(super) fn fit(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_word = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.');
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while is_word(at) {
            at += 1;
        }
        let (digits, most) = match text[start..at].strip_suffix('u') {
            Some(digits) => (digits, u64::from(u32::MAX)),
            None => (text[start..at].trim_end_matches('i'), i32::MAX as u64),
        };
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if is_number && digits.parse().is_ok_and(|number: u64| number > most) {
            return false;
        }
        at = at.max(start + 1);
    }
    true
}

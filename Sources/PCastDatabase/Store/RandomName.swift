/// A generator of unique names.
enum RandomName {
    /// Returns the prefix with 130 random bits as 26 characters of Crockford's base32.
    static func make(prefix: String) -> String {
        let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
        var generator = SystemRandomNumberGenerator()
        return prefix + String((0..<26).map { _ in alphabet[Int(generator.next() >> 59)] })
    }
}

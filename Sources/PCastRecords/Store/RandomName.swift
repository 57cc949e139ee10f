/// Names that nobody has had.
enum RandomName {
    /// 130 bits as 26 characters of Crockford's base 32.
    static func make(prefix: String) -> String {
        let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
        var generator = SystemRandomNumberGenerator()
        return prefix + String((0..<26).map { _ in alphabet[Int(generator.next() >> 59)] })
    }
}

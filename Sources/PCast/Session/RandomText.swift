/// Makes random identifiers.
enum RandomText {
    /// Returns 24 hexadecimal digits from the system's secure random generator.
    static func identifier() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<3).map { _ in
            let digits = String(UInt32.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }
}

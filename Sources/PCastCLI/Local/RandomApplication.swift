/// A generator of applications with random secrets.
enum RandomApplication {
    /// Returns an application with a secret of 256 random bits.
    static func make(id: String) -> ApplicationArgument {
        var generator = SystemRandomNumberGenerator()
        let secret = (0..<4).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return ApplicationArgument(id: id, secret: secret.joined())
    }
}

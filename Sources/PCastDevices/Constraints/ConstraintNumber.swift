/// Numbers as people write them.
enum ConstraintNumber {
    /// As it is read back: "1280" and "29.97".
    static func text(_ number: Double) -> String {
        guard let whole = Int(exactly: number) else { return "\(number)" }
        return "\(whole)"
    }

    /// To a thousandth.
    static func rounded(_ number: Double) -> String {
        text((number * 1_000).rounded() / 1_000)
    }

    /// Whether it can be a number of pixels or of pictures a second.
    static func isUsable(_ number: Double) -> Bool { number.isFinite && number > 0 }
}

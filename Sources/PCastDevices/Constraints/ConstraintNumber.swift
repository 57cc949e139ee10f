/// Numbers as people write them.
enum ConstraintNumber {
    /// As it is read back: "1280" and "29.97".
    static func text(_ number: Double) -> String {
        guard let whole = Int(exactly: number) else { return "\(number)" }
        return "\(whole)"
    }

    /// To a thousandth, or to a millionth of what is less than 1.
    static func rounded(_ number: Double) -> String {
        let parts = abs(number) < 1 ? 1e6 : 1e3
        return text((number * parts).rounded() / parts)
    }

    /// Whether it can be a number of pixels or of pictures a second.
    static func isUsable(_ number: Double) -> Bool { number.isFinite && number > 0 }
}

/// Formatting of numbers.
enum ConstraintNumber {
    /// Returns a number as it is parsed: "1280" and "29.97".
    static func text(_ number: Double) -> String {
        guard let whole = Int(exactly: number) else { return "\(number)" }
        return "\(whole)"
    }

    /// Returns a number rounded to three decimals, or six below 1.
    static func rounded(_ number: Double) -> String {
        let parts = abs(number) < 1 ? 1e6 : 1e3
        return text((number * parts).rounded() / parts)
    }

    /// Returns whether a number can be a number of pixels or a frame rate.
    static func isUsable(_ number: Double) -> Bool { number.isFinite && number > 0 }
}

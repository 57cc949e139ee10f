import ArgumentParser
import PCastCore

/// A bit rate from 10 kbit/s to 100 Mbit/s, written as `2500k`, `2.5M`, or `2500000` in bits per second.
struct BitrateArgument: ExpressibleByArgument, Equatable {
    let bitrate: Bitrate

    init?(argument: String) {
        var digits = argument.lowercased()[...]
        var factor = 1.0
        if digits.hasSuffix("k") { factor = 1e3 }
        if digits.hasSuffix("m") { factor = 1e6 }
        if factor > 1 { digits = digits.dropLast() }
        guard digits.first?.isNumber == true, digits.allSatisfy({ $0.isNumber || $0 == "." }),
            let number = Double(digits), (10_000...100_000_000).contains(number * factor)
        else { return nil }
        bitrate = Bitrate(bitsPerSecond: Int64((number * factor).rounded()))
    }
}

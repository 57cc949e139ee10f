import ArgumentParser
import Foundation
import PCastCore
import PCastPlatform

/// A limit of a platform, written as `NAME=NUMBER`. A bit rate may be written as `2500k` or `2.5M`.
struct LimitArgument: ExpressibleByArgument, Equatable {
    let name: String
    private let text: String

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "=") else { return nil }
        name = argument[..<equals].trimmingCharacters(in: .whitespaces)
        text = argument[argument.index(after: equals)...].trimmingCharacters(in: .whitespaces)
    }

    /// Sets the limit.
    ///
    /// - Throws: ``CommandFailure`` if the name or value is invalid. It suggests a similar name.
    func set(in limits: inout PlatformLimits) throws(CommandFailure) {
        let names = PlatformLimits.Name.allCases.map(\.rawValue)
        guard let limit = PlatformLimits.Name(rawValue: name) else {
            throw CommandFailure(
                .unusableArguments,
                "--limit “\(name)” does not exist\(NearestName.suggestion(name, among: names)). Use one of "
                    + "\(names.joined(separator: ", ")).")
        }
        let bitrate = limit.isBitrate ? BitrateArgument(argument: text)?.bitrate.bitsPerSecond : nil
        guard let value = bitrate ?? Self.number(text) else {
            throw CommandFailure(.unusableArguments, "--limit \(name)=\(text): the value must be a number.")
        }
        limits[limit] = value
    }

    private static func number(_ text: String) -> Int64? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(text), value <= 1_000_000_000_000
        else { return nil }
        return value
    }
}

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

/// The options for the video encoder.
struct EncodingOptions: ParsableArguments {
    @Option(help: "Video codec. (default: h264)")
    var codec: CodecArgument?

    @Option(
        help: ArgumentHelp(
            "Target bit rate of the video encoder, such as 2500k or 2.5M. (default: depends on the frame size)",
            valueName: "bitrate"))
    var bitrate: BitrateArgument?
}

/// The codec of published video.
enum CodecArgument: String, ExpressibleByArgument, CaseIterable {
    case h264, vp8
}

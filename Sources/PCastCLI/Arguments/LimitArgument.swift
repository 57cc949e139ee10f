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

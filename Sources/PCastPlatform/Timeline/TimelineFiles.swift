import PCastCore
import PCastEdgeAuth
import PCastTimeline

/// The paths of the logs of games: a folder for each application, with a folder for each league.
struct TimelineFiles: Sendable {
    let directory: String

    /// The maximum size of a file name in bytes.
    private static let longestName = 200

    func path(of key: TimelineKey) -> String {
        [
            directory, Self.name(key.application.description), Self.name(key.game.league),
            Self.name(key.game.game) + ".jsonl",
        ].joined(separator: "/")
    }

    /// Returns a unique file name without path separators. Letters, digits, dashes and underscores do not change, and
    /// other bytes are percent-encoded. A long name is replaced by its fingerprint with a prefix that other names
    /// cannot have.
    static func name(_ text: String) -> String {
        var name = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                name += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return name.utf8.count <= longestName ? name : "=" + DigestTokens.fingerprint(of: text)
    }
}

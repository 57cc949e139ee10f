import PCastEdgeAuth
import PCastMedia
import PCastTimeline

/// Where the logs of games lie: a folder for each application, one in it for each league.
struct TimelineFiles: Sendable {
    let directory: String

    /// Of a name of a file, in bytes.
    private static let longestName = 200

    func path(of key: TimelineKey) -> String {
        [
            directory, Self.name(key.application.description), Self.name(key.game.league),
            Self.name(key.game.game) + ".jsonl",
        ].joined(separator: "/")
    }

    /// Letters, digits, dashes and underscores as they are, other bytes as in addresses, so that no name leads elsewhere and
    /// none is another's; long ones by their fingerprint, which no written name looks like.
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

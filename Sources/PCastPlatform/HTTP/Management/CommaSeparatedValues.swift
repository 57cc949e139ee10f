import PCastCore
import PCastDatabase

/// A table in CSV format (RFC 4180).
struct CommaSeparatedValues {
    private(set) var text = ""

    mutating func add(_ fields: [String]) {
        text += fields.map(Self.quoted).joined(separator: ",") + "\r\n"
    }

    /// Returns a field that spreadsheets do not execute as a formula. Clients write the text of some fields, so an
    /// apostrophe is prepended if it begins like a formula (OWASP, CSV Injection).
    private static func inert(_ field: String) -> String {
        var text = ""
        var start = field.unicodeScalars.startIndex
        for index in field.unicodeScalars.indices where separators.contains(field.unicodeScalars[index]) {
            let end = field.unicodeScalars.index(after: index)
            text += inertCell(field[start..<end], isFirst: start == field.startIndex)
            start = end
        }
        return text + inertCell(field[start...], isFirst: start == field.startIndex)
    }

    /// Returns a cell that spreadsheets do not interpret as a formula. The cell includes the separator that ends it.
    private static func inertCell(_ cell: Substring, isFirst: Bool) -> String {
        guard let first = cell.unicodeScalars.first(where: { $0 != " " }) else { return String(cell) }
        let isControl = first.value < 0x20 && (isFirst || !separators.contains(first))
        return formulaStarts.contains(first) || isControl ? "'" + cell : String(cell)
    }

    private static let separators: Set<Unicode.Scalar> = [";", ",", "|", "\t", "\r", "\n"]

    /// The last four characters are the full-width forms of East Asian keyboards.
    private static let formulaStarts: Set<Unicode.Scalar> = [
        "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}",
    ]

    private static func quoted(_ field: String) -> String {
        let field = inert(field)
        let isPlain = field.utf8.allSatisfy { byte in
            byte != UInt8(ascii: ",") && byte != UInt8(ascii: "\"") && byte != 0x0A && byte != 0x0D
        }
        return isPlain ? field : "\"\(field.replacing("\"", with: "\"\""))\""
    }

    // MARK: Reports

    static let publishing = [
        "StreamId", "SessionId", "Tags", "Capabilities", "StartTime", "EndTime", "DurationMilliseconds",
        "StreamEndedReason", "Views", "MostViewers",
    ]

    mutating func add(_ stream: StreamRecord) {
        add([
            stream.id.description, stream.session?.description ?? "", stream.tags.joined(separator: ";"),
            stream.capabilities.joined(separator: ";"), Timestamp.text(stream.started ?? stream.starting),
            Self.time(stream.ended), Self.span(stream.duration), stream.reason ?? "", "\(stream.counts.views)",
            "\(stream.counts.mostViewers)",
        ])
    }

    static let viewing = [
        "ViewId", "StreamId", "SessionId", "Tags", "StartTime", "EndTime", "DurationMilliseconds", "StreamEndedReason",
    ]

    mutating func add(_ viewing: ViewingRecord) {
        add([
            viewing.id.description, viewing.stream.description, viewing.session?.description ?? "",
            viewing.tags.joined(separator: ";"), Timestamp.text(viewing.began), Self.time(viewing.ended),
            Self.span(viewing.ended.map { max($0 - viewing.began, .zero) }), viewing.reason ?? "",
        ])
    }

    private static func time(_ time: WallTime?) -> String { time.map { Timestamp.text($0) } ?? "" }

    private static func span(_ span: TimeSpan?) -> String { span.map { "\(Int64($0.milliseconds))" } ?? "" }
}

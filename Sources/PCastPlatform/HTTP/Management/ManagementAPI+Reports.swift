import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore
import PCastDatabase
import PCastIO

/// The requests for reports about publishing and viewing, as tables.
extension ManagementAPI {
    private struct ReportRequest: Decodable {
        /// The period in RFC 3339 format. It begins with the oldest data and ends now by default.
        let start: String?
        let end: String?
        /// Only streams with the tag `channelId:` followed by one of these values are included.
        let channelIds: [String]?
        /// Only streams or viewings with one of these tags are included.
        let tags: [String]?
        /// The kind of viewing; only `RealTime` is supported.
        let kind: String?

        func times() throws(ApplicationFailure) -> (from: WallTime, to: WallTime) {
            let from = try start.map(Self.time) ?? WallTime(millisecondsSinceEpoch: 0)
            let to = try end.map(Self.time) ?? MonotonicClock.wallTime()
            return (from, to)
        }

        /// The required tags, of which one is sufficient; nil for all streams.
        var tagFilter: Set<String>? {
            guard channelIds != nil || tags != nil else { return nil }
            return Set((channelIds ?? []).map { "channelId:\($0)" } + (tags ?? []))
        }

        private static func time(_ text: String) throws(ApplicationFailure) -> WallTime {
            guard let time = Timestamp.parse(text) else {
                throw .badRequest("The time is invalid: write it as 2026-01-31T12:00:00.000Z.")
            }
            return time
        }
    }

    private struct PublishingReportRequest: Decodable { let publishingReport: ReportRequest }

    private struct ViewingReportRequest: Decodable { let viewingReport: ReportRequest }

    /// The number of rows that are read and sent at a time.
    private static let rows = 1_000

    func reportPublishing(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let parameters = try request.decoded(PublishingReportRequest.self).publishingReport
        let (from, to) = try parameters.times()
        let tagFilter = parameters.tagFilter
        let selection = Records.StreamSelection(request.application, from: from, to: to)
        return try await table(CommaSeparatedValues.publishing) {
            [records = platformRecords.records] after throws(RecordsError) in
            let page = try await records.streams(selection, after: after, limit: Self.rows)
            var table = CommaSeparatedValues()
            for stream in page.elements where tagFilter?.isDisjoint(with: stream.tags) != true { table.add(stream) }
            return (table.text, page.next)
        }
    }

    func reportViewing(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let parameters = try request.decoded(ViewingReportRequest.self).viewingReport
        guard parameters.kind == nil || parameters.kind == "RealTime" else {
            throw .badRequest("“kind” is invalid: send “RealTime”, the only supported kind.")
        }
        let (from, to) = try parameters.times()
        let tagFilter = parameters.tagFilter
        let application = request.application
        return try await table(CommaSeparatedValues.viewing) {
            [records = platformRecords.records] after throws(RecordsError) in
            let page = try await records.viewings(
                of: application, from: from, to: to, after: after, limit: Self.rows)
            var table = CommaSeparatedValues()
            for entry in page.elements {
                let tags = entry.viewing.tags + entry.streamTags
                if tagFilter?.isDisjoint(with: tags) != true { table.add(entry.viewing) }
            }
            return (table.text, page.next)
        }
    }

    /// Returns a table that is sent while it is read, so that a long one needs little memory. `next` returns the rows
    /// after a position and the position of the next rows.
    ///
    /// - Throws: ``ApplicationFailure`` if the first rows cannot be read.
    private func table(
        _ columns: [String],
        _ next: @escaping @Sendable (Int64) async throws(RecordsError) -> (rows: String, next: Int64?)
    ) async throws(ApplicationFailure) -> Response {
        var head = CommaSeparatedValues()
        head.add(columns)
        // The first rows are read before the response begins, because errors can only be reported then.
        let first = try await query { () throws(RecordsError) in try await next(0) }
        let beginning = head.text + first.rows
        return Response(
            status: .ok, headers: [.contentType: "text/csv; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                try await writer.write(ByteBuffer(string: beginning))
                var cursor = first.next
                while let after = cursor {
                    let part = try await next(after)
                    try await writer.write(ByteBuffer(string: part.rows))
                    cursor = part.next
                }
                try await writer.finish(nil)
            })
    }
}

/// A table in CSV format (RFC 4180).
struct CommaSeparatedValues {
    private(set) var text = ""

    mutating func add(_ fields: [String]) {
        text += fields.map(Self.quoted).joined(separator: ",") + "\r\n"
    }

    /// Returns a field that spreadsheets do not execute as a formula. Clients write the text of some fields, so an
    /// apostrophe is prepended if it begins like a formula (OWASP, CSV Injection).
    private static func escapingFormulas(_ field: String) -> String {
        var text = ""
        var start = field.unicodeScalars.startIndex
        for index in field.unicodeScalars.indices where separators.contains(field.unicodeScalars[index]) {
            let end = field.unicodeScalars.index(after: index)
            text += escapingFormula(field[start..<end], isFirst: start == field.startIndex)
            start = end
        }
        return text + escapingFormula(field[start...], isFirst: start == field.startIndex)
    }

    /// Returns a cell that spreadsheets do not interpret as a formula. The cell includes the separator that ends it.
    private static func escapingFormula(_ cell: Substring, isFirst: Bool) -> String {
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
        let field = escapingFormulas(field)
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

import Hummingbird
import PCastCore
import PCastDatabase

/// The requests that list, inspect and end an application's streams.
extension ManagementAPI {
    private static let pageLimit: Int64 = 1_000

    private enum State: String, CaseIterable { case live, ended }

    private enum Order: String, CaseIterable { case oldest, newest }

    private struct StreamList: Encodable {
        let status = "ok"
        let streams: [StreamDescription]
        /// The value of `start` for the next page; nil at the end of the list.
        var start: String?
        /// The totals of all live streams.
        var total: Totals?
    }

    private struct Totals: Encodable {
        let streams: Int
        let viewers: Int
        let bitrate: Int64
    }

    private struct OneStream: Encodable {
        let status = "ok"
        let stream: StreamDescription
    }

    private struct Termination: Decodable {
        let streamId: String
        let reason: String?
    }

    /// Returns live streams, or ended ones for `state=ended`.
    ///
    /// - Throws: ``ApplicationFailure``.
    func list(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let length = try request.number("length", 1...Self.pageLimit, default: Self.pageLimit)
        let start = try request.number("start", 0...Int64.max, default: 0)
        let newestFirst = try request.choice("order", Order.self) == .newest
        guard try request.choice("state", State.self) == .ended else {
            return ApplicationAnswer.json(
                await live(request.application, newestFirst, from: start, length: Int(length)))
        }
        let page = try await query { () throws(RecordsError) in
            try await platformRecords.records.streams(
                .init(request.application, hasEnded: true), newestFirst: newestFirst, after: start, limit: Int(length))
        }
        return ApplicationAnswer.json(
            StreamList(streams: page.elements.map { StreamDescription($0) }, start: page.next?.description))
    }

    private func live(
        _ application: ApplicationID, _ newestFirst: Bool, from start: Int64, length: Int
    ) async -> StreamList {
        let all = await directory.list(application).map { ($0.stream, $0.viewers, histories.history(of: $0.stream.id)) }
        let ordered = newestFirst ? all.reversed() : all
        let rest = ordered.drop { stream, _, _ in
            // In descending order the position is one higher, so that 0 is the beginning in both orders.
            newestFirst ? start > 0 && stream.ordinal >= start : stream.ordinal < start
        }
        let part = rest.prefix(length)
        let next = rest.dropFirst(length).first.map { newestFirst ? $0.0.ordinal + 1 : $0.0.ordinal }
        return StreamList(
            streams: part.map { StreamDescription($0, viewers: $1, history: $2) }, start: next?.description,
            total: Totals(
                streams: all.count, viewers: all.reduce(0) { $0 + $1.1 },
                bitrate: all.reduce(0) { $0 + ($1.2?.last?.bitrate?.bitsPerSecond ?? 0) }))
    }

    func inspect(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let id = StreamID(try request.part("stream"))
        if let live = await directory.live(id, of: request.application) {
            let quality = await directory.quality(of: live.stream)
            return ApplicationAnswer.json(
                OneStream(
                    stream: StreamDescription(
                        live.stream, viewers: live.viewers, quality: quality,
                        history: histories.history(of: id))))
        }
        let endedStream = try await query { () throws(RecordsError) in
            try await platformRecords.records.stream(id, of: request.application)
        }
        guard let endedStream else { throw .notFound }
        return ApplicationAnswer.json(OneStream(stream: StreamDescription(endedStream)))
    }

    /// Ends a stream for all clients, which receive the reason.
    ///
    /// - Throws: ``ApplicationFailure``.
    func terminate(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let termination = try request.decoded(Termination.self)
        let text = termination.reason ?? ""
        guard ClientTextLimits.isReason(text) else {
            throw .badRequest("“reason” is too long: send at most 120 characters.")
        }
        let found = await directory.end(
            StreamID(termination.streamId), of: request.application, reason: StreamEndedReason(wire: text),
            description: text)
        guard found else { throw .notFound }
        return ApplicationAnswer.done
    }
}

import Hummingbird
import PCastMedia
import PCastRecords

/// An application's streams: listed, looked at, ended.
extension ApplicationDoor {
    private static let pageLimit: Int64 = 1_000

    private enum State: String, CaseIterable { case live, ended }

    private struct StreamList: Encodable {
        let status = "ok"
        let streams: [StreamDescription]
        /// What the next part of the list is asked with; absent at its end.
        var start: String?
    }

    private struct OneStream: Encodable {
        let status = "ok"
        let stream: StreamDescription
    }

    private struct Termination: Decodable {
        let streamId: String
        let reason: String?
    }

    /// The oldest first: those that play, or, with `state=ended`, those that have ended.
    func list(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let length = try request.number("length", 1...Self.pageLimit, default: Self.pageLimit)
        let start = try request.number("start", 0...Int64.max, default: 0)
        guard try request.choice("state", State.self) == .ended else {
            let live = await directory.list(request.application).filter { $0.stream.ordinal >= start }
            let part = live.prefix(Int(length))
            return ApplicationAnswer.json(
                StreamList(
                    streams: part.map { StreamDescription($0.stream, viewers: $0.viewers) },
                    start: live.count > part.count ? live[part.count].stream.ordinal.description : nil))
        }
        let page = try await ask { () throws(RecordsError) in
            try await kept.records.streams(
                .init(request.application, hasEnded: true), after: start, limit: Int(length))
        }
        return ApplicationAnswer.json(
            StreamList(streams: page.elements.map { StreamDescription($0) }, start: page.next?.description))
    }

    func inspect(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let id = StreamID(try request.part("stream"))
        if let live = await directory.live(id, of: request.application) {
            let quality = await directory.quality(of: live.stream)
            return ApplicationAnswer.json(
                OneStream(stream: StreamDescription(live.stream, viewers: live.viewers, quality: quality)))
        }
        let past = try await ask { () throws(RecordsError) in
            try await kept.records.stream(id, of: request.application)
        }
        guard let past else { throw .notFound }
        return ApplicationAnswer.json(OneStream(stream: StreamDescription(past)))
    }

    /// Ends a stream for everyone; they are told the reason.
    func terminate(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let termination = try request.decoded(Termination.self)
        let text = termination.reason ?? ""
        guard text.unicodeScalars.count <= 120 else { throw .badRequest("A reason has at most 120 characters.") }
        let found = await directory.end(
            StreamID(termination.streamId), of: request.application, reason: StreamEndedReason(wire: text),
            description: text)
        guard found else { throw .notFound }
        return ApplicationAnswer.done
    }
}

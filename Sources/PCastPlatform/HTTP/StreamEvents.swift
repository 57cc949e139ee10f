import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore
import PCastIO

/// The events of a WHIP or WHEP session as server-sent events (HTML Standard, section 9.2), for browsers that have no
/// other signaling with the platform.
///
/// The response to a POST has a `Link` field with the URI of the events, with the relation of the WHEP drafts and
/// the types of events. A GET request returns the current data quality, each change of it, and the end
/// reason:
///
///     event: data-quality
///     data: {"status":"audio-only","reason":"download-limited"}
///
///     event: ended
///     data: {"reason":"censored"}
///
/// A publisher's data quality also has `warnings` if there are any: a list of `code` and `message` of what it should
/// change.
///
/// A publisher that stated `?secondCodec=offered` at the endpoint is asked for a second codec while viewers need it, and sends it
/// by another POST with `?secondCodecKey=KEY`. Without a codec, it stops that:
///
///     event: second-codec
///     data: {"codec":"H264","key":"…"}
///
/// A viewer also receives the captions of the stream. Times are milliseconds since 1970 by the platform's capture clock,
/// and `timestamp` is the time at which the event is sent:
///
///     event: captions
///     data: {"timestamp":1790000000000,"cues":[{"captureTime":1790000001500,"duration":4000,"text":"Hello"}]}
///
/// A viewer can also create event streams of selected types; see ``SessionEventStream``.
///
/// The response ends with the session. The random name of the resource is its secret, as for DELETE.
enum StreamEvents {
    private static let relation = "urn:ietf:params:whep:ext:core:server-sent-events"

    static let headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]

    /// The interval of comments that prevent proxies from closing the connection.
    private static let heartbeat = Duration.seconds(15)

    /// The maximum number of events that wait for a slow client. Beyond it, the oldest are dropped.
    private static let backlog = 64

    /// Returns the value of the `Link` field for the events at a path.
    static func link(to path: String, isViewer: Bool) -> String {
        let types = isViewer ? SessionEventType.viewerTypes : SessionEventType.publisherTypes
        return "<\(path)>; rel=\"\(relation)\"; events=\"\(types.map(\.rawValue).joined(separator: ","))\""
    }

    private struct Ended: Encodable { let reason: String }

    private struct SecondCodec: Encodable {
        let codec: String?
        let key: String?
    }

    private struct Captions: Encodable {
        struct Cue: Encodable {
            let captureTime: Int64
            let duration: Int64
            let text: String
        }

        let timestamp: Int64
        let cues: [Cue]
    }

    /// Returns the response with the events that clients receive without selecting types.
    static func response(_ updates: AsyncStream<StreamUpdate>) -> Response {
        response { continuation in
            for await each in updates {
                let (type, text) = event(each)
                if SessionEventType.defaultTypes.contains(type) { continuation.yield(text) }
            }
        }
    }

    /// Returns the response with the events of an event stream.
    static func response(delivering events: AsyncStream<String>) -> Response {
        response { continuation in for await each in events { continuation.yield(each) } }
    }

    /// Returns the response with the events that a function delivers until it returns.
    private static func response(
        by deliver: @escaping @Sendable (AsyncStream<String>.Continuation) async -> Void
    ) -> Response {
        Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                let (lines, continuation) = AsyncStream.makeStream(
                    of: String.self, bufferingPolicy: .bufferingNewest(backlog))
                let delivery = Task {
                    await deliver(continuation)
                    continuation.finish()
                }
                let heartbeats = Task {
                    while (try? await Task.sleep(for: heartbeat)) != nil { continuation.yield(":\n\n") }
                }
                defer {
                    delivery.cancel()
                    heartbeats.cancel()
                }
                for await line in lines { try await writer.write(ByteBuffer(string: line)) }
                try await writer.finish(nil)
            })
    }

    /// Returns an update as an event, with its type.
    static func event(_ update: StreamUpdate) -> (SessionEventType, String) {
        switch update {
        case .quality(let quality, let warnings):
            let (status, reason) = (quality.status.rawValue, quality.reason.rawValue)
            guard !warnings.isEmpty else {
                return event(.dataQuality, "{\"status\":\"\(status)\",\"reason\":\"\(reason)\"}")
            }
            let list = json(warnings.map { StreamDescription.Warning($0) })
            return event(.dataQuality, "{\"status\":\"\(status)\",\"reason\":\"\(reason)\",\"warnings\":\(list)}")
        case .activity(let isActive): return event(isActive ? .active : .inactive, "{}")
        // Without an address, the player returns to the endpoint of its first request.
        case .reconnect: return event(.reconnect, "{}")
        case .secondCodec(let codec, let key):
            return event(.secondCodec, json(SecondCodec(codec: codec?.rawValue, key: key)))
        // The reason may be text of the application. As JSON it is always one line.
        case .ended(let end): return event(.ended, json(Ended(reason: end.wire)))
        case .captions(let cues):
            let captions = Captions(
                timestamp: MonotonicClock.wallTime().millisecondsSinceEpoch,
                cues: cues.map {
                    Captions.Cue(
                        captureTime: $0.captureTime.millisecondsSinceEpoch,
                        duration: TimeSpan($0.duration).nanoseconds / 1_000_000, text: $0.text)
                })
            return event(.captions, json(captions))
        }
    }

    /// Returns an event with data of one line.
    private static func event(_ type: SessionEventType, _ data: String) -> (SessionEventType, String) {
        (type, text(type, data))
    }

    /// Returns the text of an event with data of one line.
    static func text(_ type: SessionEventType, _ data: String) -> String {
        "event: \(type.rawValue)\ndata: \(data)\n\n"
    }

    static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

/// The types of a session's events, in the order of the `Link` field.
enum SessionEventType: String, CaseIterable, Sendable {
    case dataQuality = "data-quality"
    case ended
    case captions
    case active
    case inactive
    case layers
    case viewerCount = "viewercount"
    case reconnect
    case secondCodec = "second-codec"

    /// The events of publishers.
    static let publisherTypes: [SessionEventType] = [.dataQuality, .ended, .secondCodec]
    /// The events of viewers.
    static let viewerTypes = allCases.filter { $0 != .secondCodec }
    /// The events that a client receives without selecting types.
    static let defaultTypes: Set<SessionEventType> = [.dataQuality, .ended, .captions, .secondCodec]
}

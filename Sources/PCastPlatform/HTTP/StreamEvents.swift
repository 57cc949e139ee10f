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
/// `events="data-quality,ended"`. A GET request returns the current data quality, each change of it, and the end
/// reason:
///
///     event: data-quality
///     data: {"status":"audio-only","reason":"download-limited"}
///
///     event: ended
///     data: {"reason":"censored"}
///
/// A viewer also receives the captions of the stream. Times are milliseconds since 1970 by the platform's capture clock,
/// and `timestamp` is the time at which the event is sent:
///
///     event: captions
///     data: {"timestamp":1790000000000,"cues":[{"captureTime":1790000001500,"duration":4000,"text":"Hello"}]}
///
/// The response ends with the session. The random name of the resource is its secret, as for DELETE.
enum StreamEvents {
    private static let relation = "urn:ietf:params:whep:ext:core:server-sent-events"

    /// The interval of comments that prevent proxies from closing the connection.
    private static let heartbeat = Duration.seconds(15)

    /// The maximum number of events that wait for a slow client. Beyond it, the oldest are dropped.
    private static let backlog = 64

    static func link(to path: String, isViewer: Bool) -> String {
        "<\(path)>; rel=\"\(relation)\"; events=\"data-quality,ended\(isViewer ? ",captions" : "")\""
    }

    private struct Ended: Encodable { let reason: String }

    private struct Captions: Encodable {
        struct Cue: Encodable {
            let captureTime: Int64
            let duration: Int64
            let text: String
        }

        let timestamp: Int64
        let cues: [Cue]
    }

    static func response(_ updates: AsyncStream<StreamUpdate>) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                let (lines, continuation) = AsyncStream.makeStream(
                    of: String.self, bufferingPolicy: .bufferingNewest(backlog))
                let following = Task {
                    for await each in updates { continuation.yield(event(each)) }
                    continuation.finish()
                }
                let heartbeats = Task {
                    while (try? await Task.sleep(for: heartbeat)) != nil { continuation.yield(":\n\n") }
                }
                defer {
                    following.cancel()
                    heartbeats.cancel()
                }
                for await line in lines { try await writer.write(ByteBuffer(string: line)) }
                try await writer.finish(nil)
            })
    }

    private static func event(_ updates: StreamUpdate) -> String {
        switch updates {
        case .quality(let quality): return event(quality)
        case .ended(let end):
            // The reason may be text of the application. As JSON it is always one line.
            return "event: ended\ndata: \(json(Ended(reason: end.wire)))\n\n"
        case .captions(let cues):
            let captions = Captions(
                timestamp: MonotonicClock.wallTime().millisecondsSinceEpoch,
                cues: cues.map {
                    Captions.Cue(
                        captureTime: $0.captureTime.millisecondsSinceEpoch,
                        duration: TimeSpan($0.duration).nanoseconds / 1_000_000, text: $0.text)
                })
            return "event: captions\ndata: \(json(captions))\n\n"
        }
    }

    private static func json(_ value: some Encodable) -> String {
        (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private static func event(_ quality: DataQuality) -> String {
        let status = quality.status.rawValue
        let reason = quality.reason.rawValue
        return "event: data-quality\ndata: {\"status\":\"\(status)\",\"reason\":\"\(reason)\"}\n\n"
    }
}

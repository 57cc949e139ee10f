import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore

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
/// The response ends with the session. The random name of the resource is its secret, as for DELETE.
enum StreamEvents {
    private static let relation = "urn:ietf:params:whep:ext:core:server-sent-events"

    /// The interval of comments that prevent proxies from closing the connection.
    private static let heartbeat = Duration.seconds(15)

    static func link(to path: String) -> String { "<\(path)>; rel=\"\(relation)\"; events=\"data-quality,ended\"" }

    private struct Ended: Encodable { let reason: String }

    static func response(_ news: AsyncStream<StreamUpdate>) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                let (lines, told) = AsyncStream.makeStream(of: String.self)
                let following = Task {
                    for await each in news { told.yield(event(each)) }
                    told.finish()
                }
                let beating = Task {
                    while (try? await Task.sleep(for: heartbeat)) != nil { told.yield(":\n\n") }
                }
                defer {
                    following.cancel()
                    beating.cancel()
                }
                for await line in lines { try await writer.write(ByteBuffer(string: line)) }
                try await writer.finish(nil)
            })
    }

    private static func event(_ news: StreamUpdate) -> String {
        switch news {
        case .quality(let quality): return event(quality)
        case .ended(let end):
            // The reason may be text of the application. As JSON it is always one line.
            let data = (try? JSONEncoder().encode(Ended(reason: end.wire))).map { String(decoding: $0, as: UTF8.self) }
            return "event: ended\ndata: \(data ?? "{}")\n\n"
        }
    }

    private static func event(_ quality: DataQuality) -> String {
        let status = quality.status.rawValue
        let reason = quality.reason.rawValue
        return "event: data-quality\ndata: {\"status\":\"\(status)\",\"reason\":\"\(reason)\"}\n\n"
    }
}

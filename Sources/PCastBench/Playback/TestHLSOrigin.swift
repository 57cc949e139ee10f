import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastIO
import PCastWeb

/// An HTTP server on loopback that serves a film by HLS: as a complete presentation at `/film.m3u8`, and as a
/// low-latency live presentation at `/live.m3u8`. The live presentation starts with the origin, or `head` earlier. A
/// playlist request for a part that is not available yet is blocked (RFC 8216bis, section 6.2.5.2).
final class TestHLSOrigin: Sendable {
    /// The default number of segments in a live playlist.
    private static let defaultWindow = 6
    /// The number of segments at the end of a live playlist that are also listed as parts.
    private static let segmentsWithParts = 3

    private let film: StampedVideo
    /// The time of the first frame.
    private let beginning: Instant
    /// The wall-clock time of the first frame, for the playlist.
    private let date: WallTime
    let port: Int
    private let serving: Task<Void, any Error>

    /// Starts a server. At the start, the live presentation already has a length of `head`; its playlist lists `window`
    /// segments. Throws `BenchFailure` if the server does not start.
    static func open(_ film: StampedVideo, head: TimeSpan, window: Int = defaultWindow) async throws -> TestHLSOrigin {
        let beginning = MonotonicClock.now() - head
        let (ports, portContinuation) = AsyncStream.makeStream(of: Int.self)
        let date = MonotonicClock.reference().wallTime(at: beginning)
        let server = Server(film: film, beginning: beginning, date: date, window: window)
        let web = WebServer(
            binding: .init(host: "127.0.0.1", port: 0), router: server.routes(), webSocketPath: "/none",
            logger: Logger(label: "origin") { _ in SwiftLogNoOpLogHandler() }
        ) { _ in }
        let serving = Task { try await web.run { port in portContinuation.yield(port) } }
        for await port in ports { return TestHLSOrigin(film, beginning, date, port, serving) }
        throw BenchFailure("the HTTP origin did not start")
    }

    private init(
        _ film: StampedVideo, _ beginning: Instant, _ date: WallTime, _ port: Int, _ serving: Task<Void, any Error>
    ) {
        (self.film, self.beginning, self.date, self.port, self.serving) = (film, beginning, date, port, serving)
    }

    /// The wall-clock time of a position.
    func wallTime(of position: TimeSpan) -> WallTime { date + position }

    func uri(_ name: String) -> String { "http://127.0.0.1:\(port)/\(name)" }

    /// The end of the last complete part at the given time.
    func edge(at now: Instant) -> TimeSpan { Server.edge(beginning, film, at: now) }

    /// The position that is being captured at the given time.
    func camera(at now: Instant) -> TimeSpan { now - beginning }

    func close() async {
        serving.cancel()
        _ = try? await serving.value
    }

    /// The routes of the HTTP server.
    private struct Server: Sendable {
        let film: StampedVideo
        let beginning: Instant
        let date: WallTime
        let window: Int

        static func edge(_ beginning: Instant, _ film: StampedVideo, at now: Instant) -> TimeSpan {
            let made = max(0, (now - beginning).nanoseconds / StampedVideo.partLength.nanoseconds)
            return TimeSpan(
                nanoseconds: min(made, Int64(film.parts.count)) * StampedVideo.partLength.nanoseconds)
        }

        /// The number of complete parts at the given time.
        private func made(at now: Instant) -> Int {
            Int(Self.edge(beginning, film, at: now).nanoseconds / StampedVideo.partLength.nanoseconds)
        }

        func routes() -> Router<WebRequestContext> {
            let router = Router(context: WebRequestContext.self)
            router.get("/film.m3u8") { _, _ in playlist(complete) }
            router.get("/live.m3u8") { request, _ in
                let query = request.uri.queryParameters
                if let segment = query["_HLS_msn"].flatMap({ Int(String($0)) }) {
                    let part = query["_HLS_part"].flatMap { Int(String($0)) } ?? StampedVideo.partsPerSegment - 1
                    try await awaitPart(segment * StampedVideo.partsPerSegment + part)
                }
                return playlist(live(made(at: MonotonicClock.now())))
            }
            router.get("/init.mp4") { _, _ in media(film.initialization) }
            router.get("/segment/:number") { _, context in
                let number = try context.parameters.require("number", as: Int.self)
                guard (0..<film.segmentCount).contains(number) else { throw HTTPError(.notFound) }
                return media(film.segment(number))
            }
            router.get("/part/:number") { _, context in
                let number = try context.parameters.require("number", as: Int.self)
                guard film.parts.indices.contains(number) else { throw HTTPError(.notFound) }
                try await awaitPart(number)
                return media(film.parts[number])
            }
            return router
        }

        /// Waits until a part is complete, or the film has ended.
        private func awaitPart(_ number: Int) async throws {
            let last = min(number, film.parts.count - 1)
            let due =
                beginning + TimeSpan(nanoseconds: Int64(last + 1) * StampedVideo.partLength.nanoseconds)
            let remainingTime = due - MonotonicClock.now()
            if remainingTime > .zero { try await Task.sleep(for: remainingTime.duration) }
        }

        private func playlist(_ text: String) -> Response {
            Response(
                status: .ok, headers: [.contentType: "application/vnd.apple.mpegurl"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        }

        private func media(_ bytes: [UInt8]) -> Response {
            Response(
                status: .ok, headers: [.contentType: "video/mp4"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        }

        private var complete: String {
            var text = head(first: 0, more: "#EXT-X-PLAYLIST-TYPE:VOD\n")
            for number in 0..<film.segmentCount { text += segmentLines(number) }
            return text + "#EXT-X-ENDLIST\n"
        }

        private func live(_ made: Int) -> String {
            let (whole, remainder) = made.quotientAndRemainder(dividingBy: StampedVideo.partsPerSegment)
            let first = max(0, whole - window)
            let length = StampedVideo.partLength.seconds
            var text = head(
                first: first,
                more: "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=\(3 * length)\n"
                    + "#EXT-X-PART-INF:PART-TARGET=\(length)\n")
            text += "#EXT-X-PROGRAM-DATE-TIME:\(dateText(of: date + position(ofSegment: first)))\n"
            for number in first..<whole {
                if number >= whole - TestHLSOrigin.segmentsWithParts {
                    text += partLines(of: number, StampedVideo.partsPerSegment)
                }
                text += segmentLines(number)
            }
            text += partLines(of: whole, remainder)
            guard made < film.parts.count else { return text + "#EXT-X-ENDLIST\n" }
            return text + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"part/\(made)\"\n"
        }

        private func head(first: Int, more: String) -> String {
            "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:\(Int(StampedVideo.segmentLength.seconds.rounded()))\n"
                + "#EXT-X-MEDIA-SEQUENCE:\(first)\n\(more)#EXT-X-MAP:URI=\"init.mp4\"\n"
        }

        private func segmentLines(_ number: Int) -> String {
            "#EXTINF:\(StampedVideo.segmentLength.seconds),\nsegment/\(number)\n"
        }

        private func partLines(of segment: Int, _ count: Int) -> String {
            (0..<count).map { part in
                "#EXT-X-PART:DURATION=\(StampedVideo.partLength.seconds),"
                    + "URI=\"part/\(segment * StampedVideo.partsPerSegment + part)\"\(part == 0 ? ",INDEPENDENT=YES" : "")\n"
            }.joined()
        }

        private func dateText(of time: WallTime) -> String {
            Date(timeIntervalSince1970: Double(time.millisecondsSinceEpoch) / 1_000).formatted(
                Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        }

        private func position(ofSegment number: Int) -> TimeSpan {
            TimeSpan(nanoseconds: Int64(number) * StampedVideo.segmentLength.nanoseconds)
        }
    }
}

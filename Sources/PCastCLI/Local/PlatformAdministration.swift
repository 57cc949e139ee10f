import Foundation
import PCastCore
import PCastWeb

/// A client of a platform's management API, with the credentials of an application.
struct PlatformAdministration {
    /// A live stream.
    struct Stream: Decodable, Equatable {
        /// The format of the video.
        struct Video: Decodable, Equatable {
            let codecString: String
        }

        let streamId: String
        let tags: [String]?
        /// The start time in milliseconds since 1970 (UTC).
        let startTime: Int64?
        let viewers: Int?
        /// The size of the frames in pixels.
        let width: Int?
        let height: Int?
        let video: Video?

        /// Size and codec string of the video as text, such as `1280x720 avc1.64001f`; nil before the first key frame.
        var videoText: String? {
            guard let width, let height, let video else { return nil }
            return "\(width)x\(height) \(video.codecString)"
        }

        /// The start time as text, clamped to the range of `WallTime`; nil if the platform did not send it.
        var startTimeText: String? {
            let limit: Int64 = 9_000_000_000_000
            return startTime.map { WallTime(millisecondsSinceEpoch: min(max($0, -limit), limit)).timestampText }
        }
    }

    private struct StreamList: Decodable {
        let status: String
        let streams: [Stream]
        /// The value of `start` for the next page; nil for the last one.
        let start: String?
    }

    private struct Outcome: Decodable {
        let status: String
    }

    let uri: String
    let application: ApplicationArgument

    /// Returns the live streams, newest last.
    ///
    /// - Throws: ``CommandFailure``.
    func streams() async throws -> [Stream] {
        var streams: [Stream] = []
        var start: String? = "0"
        while let next = start {
            let answer = try await request("GET", "/pcast/streams?start=\(next)", body: nil)
            guard answer.status == 200, let list = try? JSONDecoder().decode(StreamList.self, from: Data(answer.body))
            else { throw failure(answer) }
            streams += list.streams
            start = list.start
        }
        return streams
    }

    /// Ends a stream for all clients. Subscribers receive the reason.
    ///
    /// - Throws: ``CommandFailure``, whose status is `nothingToPlay` if the stream does not exist.
    func end(stream: String, reason: String) async throws {
        let body = try JSONEncoder().encode(["streamId": stream, "reason": reason])
        let answer = try await request("DELETE", "/pcast/stream", body: Array(body))
        if answer.status == 404 || answer.status == 410 {
            throw CommandFailure(
                .nothingToPlay, "The platform has no stream “\(stream)”: “pcast streams list” prints its streams.")
        }
        guard answer.status == 200 else { throw failure(answer) }
    }

    /// Returns the URI of a path of the platform.
    func uri(of path: String) -> String { (uri.hasSuffix("/") ? String(uri.dropLast()) : uri) + path }

    func request(_ method: String, _ path: String, body: [UInt8]?) async throws -> HTTPResult {
        let credentials = Data("\(application.id):\(application.secret)".utf8).base64EncodedString()
        var headers = [("Authorization", "Basic \(credentials)"), ("Accept", "application/json")]
        if body != nil { headers.append(("Content-Type", "application/json")) }
        do {
            return try await HTTPRequests.send(method, uri(of: path), headers: headers, body: body)
        } catch let error as WebError {
            if case .invalidURI = error { throw CommandFailure(.unusableArguments, describing: error) }
            throw CommandFailure(.platformUnreachable, describing: error)
        }
    }

    func failure(_ answer: HTTPResult) -> CommandFailure {
        if answer.status == 401 || answer.status == 403 {
            return CommandFailure(
                .notAuthorized, "The platform at \(uri) rejects this application and secret: check --application.")
        }
        let status = (try? JSONDecoder().decode(Outcome.self, from: Data(answer.body)))?.status
        return CommandFailure(
            .failed, "The platform at \(uri) responded with status \(answer.status)\(status.map { " (\($0))" } ?? "").")
    }
}

extension LocalCredentials {
    /// Returns whether a URI is that of this platform. `localhost` and 127.0.0.1 are equal.
    func isOf(uri other: String?) -> Bool {
        guard let other, let ownAddress = try? WebAddress(uri), let otherAddress = try? WebAddress(other) else {
            return false
        }
        let hosts = [ownAddress, otherAddress].map { $0.host == "localhost" ? "127.0.0.1" : $0.host.lowercased() }
        return hosts[0] == hosts[1] && ownAddress.port == otherAddress.port
    }
}

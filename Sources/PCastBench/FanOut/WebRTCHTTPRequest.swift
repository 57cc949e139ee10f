import CLinux
import Foundation
import Glibc
import PCastCore
import PCastIO
import PCastTestSupport
import PCastWebRTC

/// A POST of an offer to WHIP or WHEP on a connection of its own (RFC 9112).
enum WebRTCHTTPRequest {
    struct Reply: Sendable {
        let description: SessionDescription
        /// The stream ID, if the endpoint returns it.
        let streamID: StreamID?
    }

    /// Sends an offer, on a thread of its own because it blocks; without a token if it is nil. Throws `BenchFailure` if the
    /// endpoint rejects it.
    static func post(
        _ offer: SessionDescription, to path: String, at server: TransportAddress, token: String?
    ) async throws -> Reply {
        let body = offer.text
        let head = [
            "POST \(path) HTTP/1.1", "Host: \(server)", token.map { "Authorization: Bearer \($0)" },
            "Content-Type: application/sdp", "Content-Length: \(body.utf8.count)", "Connection: close", "", "",
        ].compactMap(\.self).joined(separator: "\r\n")
        let (lines, answer) = try await ask(head + body, of: server)
        guard lines[0].contains(" 201 ") else { throw BenchFailure("\(path) answered “\(lines[0])”") }
        let stream = lines.first { $0.lowercased().hasPrefix("pcast-stream-id:") }?.split(separator: ":", maxSplits: 1)
            .last?.trimmingCharacters(in: .whitespaces)
        return Reply(
            description: try SessionDescription(parsing: answer), streamID: stream.map { StreamID($0) })
    }

    /// Sends a request with `Connection: close`, on a thread of its own. Returns the lines of the response's head, and
    /// its body. Throws `BenchFailure`.
    static func ask(_ request: String, of server: TransportAddress) async throws -> (head: [String], body: String) {
        let text = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try exchange(request, with: server) })
            }
        }
        guard let split = text.range(of: "\r\n\r\n") else { throw BenchFailure("\(server) did not respond") }
        return (text[..<split.lowerBound].components(separatedBy: "\r\n"), String(text[split.upperBound...]))
    }

    private static func exchange(_ request: String, with server: TransportAddress) throws -> String {
        let socket = try ProxySocket(.stream)
        try socket.connect(server)
        var left = Array(request.utf8)[...]
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let limit = MonotonicClock.now() + .seconds(60)
        while MonotonicClock.now() < limit {
            var waiting = [pollfd(fd: socket.number, events: Int16(left.isEmpty ? POLLIN : POLLOUT), revents: 0)]
            poll(&waiting, 1, 1_000)
            if !left.isEmpty {
                let sent = left.withUnsafeBytes { send(socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if sent > 0 { left = left.dropFirst(sent) }
                if sent < 0, errno != EAGAIN, errno != EINTR { break }
                continue
            }
            let count = recv(socket.number, &buffer, buffer.count, 0)
            if count == 0 { return String(decoding: answer, as: UTF8.self) }
            if count > 0 { answer += buffer[..<count] }
            if count < 0, errno != EAGAIN, errno != EINTR { break }
        }
        throw BenchFailure("\(server) does not respond")
    }
}

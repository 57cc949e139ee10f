import CLinux
import Foundation
import Glibc
import PCastCodecs
import PCastCore
import PCastIO
import PCastRTP
import Synchronization

/// A camera with H.265 that serves RTSP (RFC 2326) on loopback, with RTP in its connection. It plays a film in a loop, to
/// one client after another.
final class RTSPCamera: Sendable {
    /// The address of its stream.
    let uri: String
    private let descriptor: Int32
    private let isStopped = Atomic(false)
    private let client = Mutex<Int32?>(nil)
    private let worker = Mutex<WorkerThread?>(nil)

    /// The RTP payload type.
    private static let payloadType: UInt8 = 96
    private static let ticksPerFrame: Int64 = 3_000

    /// Starts a camera with a film of 30 frames per second. Throws `BenchFailure` if there is no socket.
    init(_ frames: [EncodedFrame]) throws {
        // A client that ends would end this program.
        signal(SIGPIPE, SIG_IGN)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (descriptor, length) = (descriptor, size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard descriptor >= 0, isBound else { throw BenchFailure("the RTSP server cannot listen") }
        uri = "rtsp://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/camera"
        let worker = try WorkerThread(name: "rtsp") { [self] in serve(frames) }
        self.worker.withLock { $0 = worker }
    }

    /// Ends the connection and the server.
    func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        shutdown(descriptor, Int32(SHUT_RDWR))
        client.withLock { if let client = $0 { shutdown(client, Int32(SHUT_RDWR)) } }
        worker.withLock { $0.take() }?.join()
        close(descriptor)
    }

    private func serve(_ frames: [EncodedFrame]) {
        while !isStopped.load(ordering: .sequentiallyConsistent) {
            let accepted = accept(descriptor, nil, nil)
            guard accepted >= 0 else { continue }
            client.withLock { $0 = accepted }
            if prepare(accepted) { play(frames, to: accepted) }
            client.withLock { $0 = nil }
            close(accepted)
        }
    }

    /// Responds to requests up to `PLAY`. Returns false if the client leaves before.
    private func prepare(_ client: Int32) -> Bool {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            while let end = text.range(of: "\r\n\r\n") {
                let request = String(text[..<end.lowerBound])
                text.removeSubrange(..<end.upperBound)
                let response = response(to: request)
                guard send(Array(response.utf8), to: client) else { return false }
                if request.hasPrefix("PLAY") { return true }
            }
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0, text.utf8.count < 1 << 16 else { return false }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    private func response(to request: String) -> String {
        let lines = request.components(separatedBy: "\r\n")
        func field(_ name: String) -> String? {
            lines.first { $0.lowercased().hasPrefix(name + ":") }.map {
                $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
            }
        }
        let head = "CSeq: \(field("cseq") ?? "0")\r\nSession: 1\r\n"
        switch lines[0].split(separator: " ").first {
        case "DESCRIBE":
            let description = [
                "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=camera", "c=IN IP4 127.0.0.1", "t=0 0",
                "m=video 0 RTP/AVP \(Self.payloadType)", "a=rtpmap:\(Self.payloadType) H265/90000",
                "a=control:\(uri)/video", "",
            ].joined(separator: "\r\n")
            return "RTSP/1.0 200 OK\r\n\(head)Content-Base: \(uri)/\r\nContent-Type: application/sdp\r\n"
                + "Content-Length: \(description.utf8.count)\r\n\r\n\(description)"
        case "SETUP":
            guard field("transport")?.contains("TCP") == true else {
                return "RTSP/1.0 461 Unsupported Transport\r\n\(head)\r\n"
            }
            return "RTSP/1.0 200 OK\r\n\(head)Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n"
        case "OPTIONS": return "RTSP/1.0 200 OK\r\n\(head)Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN\r\n\r\n"
        default: return "RTSP/1.0 200 OK\r\n\(head)\r\n"
        }
    }

    /// Sends the film in real time until the client leaves.
    private func play(_ frames: [EncodedFrame], to client: Int32) {
        let start = MonotonicClock.now()
        var sequence: UInt16 = 0
        var number: Int64 = 0
        while !isStopped.load(ordering: .sequentiallyConsistent) {
            let due = start + TimeSpan.seconds(1 as Int64) * number / 30
            let wait = due - MonotonicClock.now()
            if wait > .zero { usleep(UInt32(wait.nanoseconds / 1_000)) }
            let frame = frames[Int(number) % frames.count]
            let packets = Self.packets(of: frame, UInt32(truncatingIfNeeded: number * Self.ticksPerFrame), &sequence)
            guard send(packets, to: client) else { return }
            number += 1
        }
    }

    /// Returns the RTP packets of a frame, each with its channel and length (RFC 2326, section 10.12).
    private static func packets(of frame: EncodedFrame, _ timestamp: UInt32, _ sequence: inout UInt16) -> [UInt8] {
        let memory = ByteStorage(byteCount: 2_048)
        let buffer = memory.bytes
        return frame.bytes.withByteView { bytes in
            var output: [UInt8] = []
            output.reserveCapacity(bytes.count + 4_096)
            var packetizer = PayloadPacketizer(codec: frame.codec, bytes: bytes)
            while let payload = packetizer.next(into: buffer) {
                let size = payload.length + 12
                output += [0x24, 0, UInt8(size >> 8), UInt8(size & 0xFF)]
                output += [0x80, (payload.isLast ? 0x80 : 0) | payloadType]
                output += [UInt8(sequence >> 8), UInt8(sequence & 0xFF)]
                for shift in [24, 16, 8, 0] as [UInt32] { output.append(UInt8(timestamp >> shift & 0xFF)) }
                output += [0, 0, 0, 7]
                output += buffer[..<payload.length]
                sequence &+= 1
            }
            return output
        }
    }

    /// Sends bytes. Returns false if the client has left.
    private func send(_ bytes: [UInt8], to client: Int32) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = Glibc.send(
                    client, bytes.baseAddress! + offset, bytes.count - offset, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
    }
}

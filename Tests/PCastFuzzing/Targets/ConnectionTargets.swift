import PCastCore
import PCastIO

/// The responses of an RTSP server, which are forwarded to libavformat. The first byte determines the pieces in which the
/// rest arrives.
enum RTSPReplyTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let size = Int(input.byte()) + 1
        let stream = input.rest()
        let whole = forwarded(stream, size: max(stream.count, 1))
        let pieces = forwarded(stream, size: size)
        try check(whole.fault == pieces.fault, "a fault that depends on the pieces of \(size) bytes")
        if whole.fault == nil {
            try check(whole.bytes == pieces.bytes, "data that depends on the pieces of \(size) bytes")
        }
        // A challenge becomes longer by the parameter `stale`, and an invalid byte of it by two.
        try check(pieces.bytes.count <= 4 * stream.count, "\(pieces.bytes.count) of \(stream.count) bytes")
        let again = forwarded(pieces.bytes, size: max(pieces.bytes.count, 1))
        try check(again.fault != .redirect, "a redirection that was forwarded")
        return whole.fault == nil && !whole.bytes.isEmpty
    }

    /// Returns what is forwarded before the connection is closed.
    private static func forwarded(_ bytes: [UInt8], size: Int) -> (bytes: [UInt8], fault: RTSPReplies.Fault?) {
        var replies = RTSPReplies()
        var forwarded: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            guard replies.pass(bytes[start..<min(start + size, bytes.count)]) else { break }
            forwarded += replies.passed
        }
        return (forwarded, replies.fault)
    }

    static let corpus: [[UInt8]] = [
        [5] + Array("RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 4\r\n\r\nv=0\n".utf8)
            + [0x24, 0, 0, 8, 0x80, 0x60, 0, 1, 0, 0, 0, 0, 0x24, 1, 0, 2, 7, 7]
            + Array("GET_PARAMETER * RTSP/1.0\r\nCSeq: 2\r\n\r\n".utf8),
        [255] + challenge("a") + challenge("b") + Array("RTSP/1.0 200\n\n".utf8),
    ]

    private static func challenge(_ nonce: String) -> [UInt8] {
        Array("RTSP/1.0 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"\(nonce)\", stale=false\r\n\r\n".utf8)
    }
}

/// The frames of a TCP connection with media (RFC 4571). The first byte determines the pieces in which the rest arrives.
enum StreamFramingTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let size = Int(input.byte()) + 1
        let stream = input.rest()
        let whole = try frames(stream, size: max(stream.count, 1))
        let pieces = try frames(stream, size: size)
        try check(whole.frames == pieces.frames, "frames that depend on the pieces of \(size) bytes")
        try check(whole.isOversize == pieces.isOversize, "an error that depends on the pieces of \(size) bytes")
        let sizes = whole.frames.map(\.count)
        try check(sizes.allSatisfy { (1...FrameReassembler.maximumFrameSize).contains($0) }, "frames of \(sizes) bytes")
        try check(sizes.reduce(0, +) <= stream.count, "frames that are larger than their stream")
        return !sizes.isEmpty
    }

    private static func frames(
        _ bytes: [UInt8], size: Int
    ) throws(BrokenInvariant) -> (frames: [[UInt8]], isOversize: Bool) {
        var reassembler = FrameReassembler()
        var frames: [[UInt8]] = []
        var position = 0
        while true {
            switch reassembler.next() {
            case .frame(let frame): frames.append(Array(frame))
            case .oversize: return (frames, true)
            case .incomplete:
                guard position < bytes.count else { return (frames, false) }
                let space = reassembler.buffer()
                try check(!space.isEmpty, "no space for the rest of a frame")
                let piece = bytes[position..<min(position + min(size, space.count), bytes.count)]
                space.copyBytes(from: piece)
                reassembler.append(piece.count)
                position += piece.count
            }
        }
    }

    static let corpus: [[UInt8]] = [
        [1] + FuzzInput.chunks([[1, 2, 3], [], [UInt8](repeating: 9, count: 300), [4]]),
        [255] + FuzzInput.chunks([[7]]) + [0xFF, 0xFF, 1],
    ]
}

/// The messages of a process that converts media, which reads data of publishers. The first byte selects the kind.
enum ProcessMessageTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let body = Array(bytes.dropFirst())
        switch bytes.first.map({ $0 % 3 }) {
        case 0:
            guard let message = TranscodingMessage(encoded: body) else { return false }
            try check(message.encoded == body, "a message that changed: \(message.kind)")
            return true
        case 1: return try renditions(body)
        case 2:
            guard let report = JobReport(line: String(decoding: body, as: UTF8.self)) else { return false }
            try check(JobReport(line: report.line) == report, "a report that changed: \(report)")
            return true
        default: return false
        }
    }

    private static func renditions(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var reader = RenditionMessageReader()
        bytes.withUnsafeBytes { reader.append($0) }
        var count = 0
        while let message = try? reader.next() {
            count += 1
            let again = RenditionMessage(encoded: message.encoded.dropFirst(4))
            try check(again == message, "a message that changed: \(message)")
        }
        try check(reader.pendingCount <= bytes.count, "\(reader.pendingCount) of \(bytes.count) bytes are left")
        return count > 0
    }

    static let corpus: [[UInt8]] = {
        let time = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
        let targets = RenditionMessage.targets(
            .h264,
            [
                .init(layer: 1, height: 360, bitrate: .kilobits(500)),
                .init(layer: 2, height: 0, bitrate: .kilobits(0)),
            ])
        let frame = RenditionMessage.frame(
            .init(layer: 1, isKeyFrame: true, timestamp: -3_000, captureTime: time, bytes: [1, 2, 3]))
        return [
            [0] + TranscodingMessage.configuration([0x11, 0x90], of: 1).encoded,
            [0] + TranscodingMessage(.packet, of: 2, time: -1, captureTime: time, bytes: [0xFC, 1]).encoded,
            [1] + targets.encoded + frame.encoded + RenditionMessage.keyFrames(7).encoded,
            [2] + Array(JobReport.ended(reason: "ended", description: "The file ended.").line.utf8),
            [2] + Array(JobReport.running.line.utf8),
        ]
    }()
}

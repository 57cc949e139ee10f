import ArgumentParser
import Glibc
import PCastCodecs
import PCastCore
import PCastIO

/// The command `pcast make-renditions`, which a platform starts for a stream whose viewers need lower layers.
struct MakeRenditionsCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "make-renditions",
        abstract: "Make lower layers of a stream's video for a platform, which starts this command.",
        discussion: "It exchanges messages over a socket, its standard input, and ends when the platform closes it.",
        shouldDisplay: false)

    /// The maximum size of the data of the process, in bytes.
    private static let memory: rlim_t = 1 << 30
    /// The niceness of the process. The threads that forward media have precedence.
    private static let niceness: Int32 = 5

    func run() async throws {
        // The video comes from an untrusted client.
        var limit = rlimit(rlim_cur: Self.memory, rlim_max: Self.memory)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
        _ = nice(Self.niceness)
        // The encoder is chosen while the first frames arrive and are decoded.
        let preparation = try? WorkerThread(name: "encoders") { VideoEncoders.prepare() }
        defer { preparation?.join() }
        do {
            var worker = RenditionWorker(try ProcessSocket.inherited())
            try worker.run()
        } catch {
            throw CommandFailure(.failed, describing: error)
        }
    }
}

/// Makes renditions of the frames that arrive at a socket, until the connection ends.
private struct RenditionWorker: ~Copyable {
    /// If more frames than these wait, a frame is decoded only. The first frames of a stream are those since its last key
    /// frame, of which viewers need the newest only. A machine that is too slow makes fewer frames per second.
    private static let longestQueue = 3
    /// A frame is encoded after this time in any case, so that viewers of a source that is decoded no faster than it
    /// arrives see something.
    private static let longestSilence = TimeSpan.milliseconds(500)
    /// The maximum size of frames that wait, in bytes. More are left in the socket.
    private static let maximumPendingSize = 32 << 20
    private static let readSize = 256 << 10

    private let socket: ProcessSocket
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 1)
    private var reader = RenditionMessageReader()
    private var messages: [RenditionMessage] = []
    private var waitingFrames = 0
    private var waitingSize = 0
    /// The time of the last frame that was encoded, or of the start.
    private var lastEncoding = MonotonicClock.now()
    private var codec = Codec.h264
    /// The codec of the renditions; nil for the usual one of the source.
    private var output: Codec?
    private var encoder: RenditionEncoder?

    init(_ socket: ProcessSocket) { self.socket = socket }

    deinit { buffer.deallocate() }

    /// Processes messages until the connection ends.
    ///
    /// - Throws: `RenditionMessageReader.Malformed`, or a `CodecError` of an encoder.
    mutating func run() throws {
        while true {
            guard try receive() else { return }
            guard !messages.isEmpty else { continue }
            try process(messages.removeFirst())
        }
    }

    /// Reads all that has arrived, and waits if there is no message. Returns false at the end of the connection.
    private mutating func receive() throws -> Bool {
        while waitingSize < Self.maximumPendingSize {
            let count: Int
            if messages.isEmpty {
                count = socket.read(into: buffer)
            } else {
                guard let available = socket.readAvailable(into: buffer) else { return true }
                count = available
            }
            guard count > 0 else { return false }
            reader.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            while let message = try reader.next() {
                if case .frame(let frame) = message {
                    waitingFrames += 1
                    waitingSize += frame.bytes.count
                }
                messages.append(message)
            }
        }
        return true
    }

    private mutating func process(_ message: RenditionMessage) throws {
        switch message {
        case .targets(let codec, let targets):
            if encoder == nil || codec != self.codec {
                encoder = try RenditionEncoder(codec: codec, output: output)
                self.codec = codec
            }
            encoder?.setTargets(
                targets.map { .init(number: Int($0.layer), height: Int($0.height), bitrate: $0.bitrate) })
        case .output(let codec): output = codec
        case .keyFrames(let layers):
            for layer in 0..<8 where layers & 1 << UInt8(layer) != 0 { encoder?.requestKeyFrame(of: layer) }
        case .frame(let frame):
            waitingFrames -= 1
            waitingSize -= frame.bytes.count
            try process(frame)
        }
    }

    private mutating func process(_ frame: RenditionMessage.Frame) throws {
        let source = EncodedFrame(
            codec: codec, bytes: frame.bytes, isKeyFrame: frame.isKeyFrame,
            timestamp: MediaTime(ticks: frame.timestamp, rate: .video), captureTime: frame.captureTime)
        let now = MonotonicClock.now()
        let encodes = waitingFrames <= Self.longestQueue || now - lastEncoding >= Self.longestSilence
        if encodes { lastEncoding = now }
        let outputs: [RenditionEncoder.Output]
        do throws(CodecError) {
            outputs = try encoder?.process(source, encodes: encodes) ?? []
        } catch {
            // The renditions continue at the next key frame of the source.
            if case .damaged = error { return }
            throw error
        }
        for output in outputs {
            let message = RenditionMessage.frame(
                .init(
                    layer: UInt8(output.number), isKeyFrame: output.frame.isKeyFrame,
                    timestamp: output.frame.timestamp.ticks,
                    captureTime: output.frame.captureTime ?? frame.captureTime, bytes: output.frame.bytes))
            guard socket.write(message.encoded) else { return }
        }
    }
}

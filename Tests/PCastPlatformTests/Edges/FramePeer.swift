import Foundation
import PCastCore
import PCastIO
import PCastWebRTC
import Synchronization
import Testing

/// A client that sends or receives numbered frames of VP8 in real time. It also sends H.264, whose slices are not decodable.
final class FramePeer: Sendable {
    private struct State {
        var isConnected = false
        var isClosed = false
        /// The layers whose next frame is a key frame, and those that are paused.
        var wantsKeyFrame = [true, true, true]
        var isPaused = [false, false, false]
        var sent: UInt32 = 0
        var received: [(number: UInt32, layer: Int)] = []
        var audioCount = 0
    }

    private let loop: EventLoop<PeerConnection>
    private let state: SharedState
    let offer: String
    private let layerCount: Int
    private let codec: Codec
    /// The third byte of the profile and level of H.264, by which publishers differ.
    private let level: UInt8
    private let began = MonotonicClock.now()
    private static let certificate = Result { try DTLSCertificate.generate(at: MonotonicClock.wallTime()) }

    private final class SharedState: Sendable {
        let value = Mutex(State())
    }

    /// Creates a client. The first frame of a publisher has the number `first`. H.264 has a level.
    init(_ purpose: PeerConnection.Purpose, first: UInt32 = 0, level: UInt8 = 0x1F) throws {
        self.level = level
        if case .publish(let video?, _, _) = purpose { codec = video } else { codec = .vp8 }
        let certificate = try Self.certificate.get()
        let state = SharedState()
        state.value.withLock { $0.sent = first }
        self.state = state
        if case .publish(_, _, let layers) = purpose { layerCount = layers } else { layerCount = 0 }
        var offer = ""
        loop = try EventLoop(
            name: "peer", listen: [TransportAddress(ip: .loopbackV4, port: 0)], tcpListen: false,
            makeMachine: { bound in
                var generator = SystemRandomNumberGenerator()
                let configuration = PeerConnection.Configuration(
                    certificate: certificate, addresses: bound, clock: MonotonicClock.reference(), cname: "peer")
                let connection = PeerConnection(purpose, configuration: configuration, using: &generator)
                offer = connection.offer.text
                return connection
            },
            afterIteration: { machine, now in
                while let media = machine.pollFrame(at: now) {
                    if case .frame(let frame, _) = media { state.value.withLock { Self.note(frame, in: &$0) } }
                }
                while let event = machine.pollEvent() { state.value.withLock { Self.note(event, in: &$0) } }
            })
        self.offer = offer
    }

    static func viewer() throws -> FramePeer { try FramePeer(.view(video: true, audio: true)) }

    private static func note(_ event: PeerConnection.Event, in state: inout State) {
        switch event {
        case .connected: state.isConnected = true
        case .closed: state.isClosed = true
        case .keyFrameRequested: state.wantsKeyFrame[0] = true
        case .paused(.video): state.isPaused[0] = true
        case .resumed(.video): (state.isPaused[0], state.wantsKeyFrame[0]) = (false, true)
        case .layerNeedsKeyFrame(let layer): state.wantsKeyFrame[layer] = true
        case .layerPaused(let layer): state.isPaused[layer] = true
        case .layerResumed(let layer): (state.isPaused[layer], state.wantsKeyFrame[layer]) = (false, true)
        default: break
        }
    }

    private static func note(_ frame: EncodedFrame, in state: inout State) {
        guard frame.codec == .vp8 else { return state.audioCount += 1 }
        let start = frame.isKeyFrame ? keyFrameHeader.count : frameHeader.count
        guard frame.bytes.count >= start + 5 else { return }
        let number = frame.bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
        state.received.append((number, Int(frame.bytes[start + 4])))
    }

    var isConnected: Bool { state.value.withLock { $0.isConnected } }
    var isClosed: Bool { state.value.withLock { $0.isClosed } }
    var audioCount: Int { state.value.withLock { $0.audioCount } }
    /// The number of the next frame that is sent.
    var nextNumber: UInt32 { state.value.withLock { $0.sent } }
    /// The numbers of the received frames of video, in their order.
    var videoNumbers: [UInt32] { state.value.withLock { $0.received.map(\.number) } }
    /// The layer of the last frame.
    var lastLayer: Int? { state.value.withLock { $0.received.last?.layer } }

    // MARK: Connecting

    /// Publishes by WHIP. Returns the stream.
    func publish(to platform: TestPlatform, token: String? = nil) async throws -> String {
        let answer = try await platform.post("/whip", offer, token: token)
        try #require(answer.status == 201)
        try await connect(answer.body)
        #expect(try await eventually { isConnected })
        return try #require(answer.header("PCast-Stream-Id"))
    }

    /// Views by WHEP. Returns the resource.
    func view(_ stream: String, at platform: TestPlatform) async throws -> String {
        let answer = try await platform.post("/whep/\(stream)", offer)
        try #require(answer.status == 201, "\(answer.body)")
        try await connect(answer.body)
        return try #require(answer.header("Location"))
    }

    /// Connects with the answer of a platform.
    func connect(_ answer: String) async throws {
        let description = try SessionDescription(parsing: answer)
        try await loop.call { machine, now in try? machine.accept(description, at: now) }
    }

    // MARK: Frames

    private static let keyFrameHeader: [UInt8] = [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01]
    private static let frameHeader: [UInt8] = [0x11, 0x02, 0x00]

    /// Sends a frame of H.264 with the time since the client was created. Each fiftieth one is a key frame.
    private func sendH264() async throws {
        let (state, level, began) = (state, level, began)
        try await loop.call { machine, now in
            let (number, isKeyFrame) = state.value.withLock { state in
                defer { (state.sent, state.wantsKeyFrame[0]) = (state.sent + 1, false) }
                return (state.sent, state.wantsKeyFrame[0] || state.sent % 50 == 0)
            }
            let start: [UInt8] = [0, 0, 0, 1]
            let sets: [UInt8] =
                start + [0x67, 0x42, 0xC0, level, 0xDA, 0x11, 0xE4] + start + [0x68, 0xCE, 0x3C, 0x80]
            let slice: [UInt8] = isKeyFrame ? [0x65, 0x88, 0x84, 1, 2, 3] : [0x41, 0x9A, 1, 2, 3, 4]
            let filling = [UInt8](repeating: UInt8(truncatingIfNeeded: number) | 1, count: 200)
            machine.send(
                EncodedFrame(
                    codec: .h264, bytes: (isKeyFrame ? sets : []) + start + slice + filling, isKeyFrame: isKeyFrame,
                    timestamp: MediaTime(
                        ticks: Codec.h264.clockRate.ticks(in: now - began), rate: Codec.h264.clockRate),
                    captureTime: MonotonicClock.wallTime()), at: now)
        }
    }

    /// Sends a frame of each layer that is not paused, and one of audio, all with the next number.
    func sendFrames() async throws {
        if codec == .h264 { return try await sendH264() }
        let (state, layers) = (state, layerCount)
        try await loop.call { machine, now in
            let (number, frames) = state.value.withLock { state in
                let number = state.sent
                state.sent += 1
                var frames: [(layer: Int, isKeyFrame: Bool)] = []
                for layer in 0..<layers where !state.isPaused[layer] {
                    frames.append((layer, state.wantsKeyFrame[layer]))
                    state.wantsKeyFrame[layer] = false
                }
                return (number, frames)
            }
            let captured = MonotonicClock.wallTime()
            let mark = (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
            for frame in frames {
                let header = frame.isKeyFrame ? Self.keyFrameHeader : Self.frameHeader
                let filling = [UInt8](repeating: 0x55, count: 300 + 600 * frame.layer)
                machine.send(
                    EncodedFrame(
                        codec: .vp8, bytes: header + mark + [UInt8(frame.layer)] + filling,
                        isKeyFrame: frame.isKeyFrame,
                        timestamp: MediaTime(ticks: Int64(number) * 900, rate: Codec.vp8.clockRate),
                        captureTime: captured), layer: frame.layer, at: now)
            }
            machine.send(
                EncodedFrame(
                    codec: .opus, bytes: [0xFC] + mark, isKeyFrame: true,
                    timestamp: MediaTime(ticks: Int64(number) * 960, rate: Codec.opus.clockRate),
                    captureTime: captured), at: now)
        }
    }

    deinit { loop.stop() }
}

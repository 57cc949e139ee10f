import PCastCodecs
import PCastCore
import PCastIO
import Synchronization

/// Encodes audio on its own thread, in packets of 20 ms.
final class AudioEncoding: Sendable {
    /// The capacity of the queue in frames, which is 200 ms. Beyond it, the oldest frame is dropped.
    private static let queueCapacity = 10

    private let channels: Int
    private let bitrate: Bitrate
    private let encoded: @Sendable (EncodedFrame) -> Void
    private let failed: @Sendable (String) -> Void
    private let queue = FrameQueue<AudioFrame>(capacity: queueCapacity)
    private let isPaused = Atomic(false)
    /// The packet loss that the platform last reported, in percent.
    private let expectedLoss = Atomic(0)
    private let thread = Mutex<WorkerThread?>(nil)

    /// Creates an encoding, which begins with ``start()``.
    ///
    /// - Parameters:
    ///   - channels: The number of channels; 1 or 2.
    ///   - bitrate: The bit rate of the encoder.
    ///   - encoded: A function that receives the packets on the encoder's thread.
    ///   - failed: A function that receives a failure as a text for people. It is called at most once.
    init(
        channels: Int, bitrate: Bitrate, encoded: @escaping @Sendable (EncodedFrame) -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) {
        self.channels = channels
        self.bitrate = bitrate
        self.encoded = encoded
        self.failed = failed
    }

    /// Starts the encoder's thread. Throws an error if there is no thread.
    func start() throws(PCastError) {
        do throws(IOError) {
            let worker = try WorkerThread(name: "encode-audio", precedence: .media) { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            throw PCastError(.failed, .device, "the audio encoder's thread could not be started: \(error)")
        }
    }

    /// Ends the encoder's thread after its present packet, and waits for the end.
    func stop() {
        queue.close()
        thread.withLock { $0 }?.join()
    }

    /// Adds a frame to the queue, unless the encoding is paused.
    func push(_ frame: AudioFrame) {
        if !isPaused.load(ordering: .relaxed) { queue.push(frame) }
    }

    /// Pauses or resumes the encoding. It is paused while nobody subscribes to the audio.
    func setPaused(_ isPaused: Bool) { self.isPaused.store(isPaused, ordering: .relaxed) }

    /// Sets the expected packet loss, 0...1. The encoder adjusts its in-band forward error correction, which repeats
    /// parts of a packet in the next one (RFC 6716, section 2.1.7).
    func setExpectedLoss(_ loss: Double) {
        expectedLoss.store(Int((min(max(loss, 0), 1) * 100).rounded(.up)), ordering: .relaxed)
    }

    private func run() {
        do {
            let encoder = try OpusEncoder(channels: channels, bitrate: bitrate)
            var correctedLoss = 0
            while let frame = queue.pop() {
                let loss = expectedLoss.load(ordering: .relaxed)
                if loss != correctedLoss { encoder.setExpectedLoss(percent: loss) }
                correctedLoss = loss
                for packet in try encoder.encode(frame) { encoded(packet) }
            }
        } catch {
            queue.close()
            failed("the audio encoder failed: \(error)")
        }
    }
}

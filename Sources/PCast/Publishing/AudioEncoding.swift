import PCastCodecs
import PCastCore
import PCastIO
import Synchronization

/// Encodes sound on a thread of its own, in packets of 20 ms.
final class AudioEncoding: Sendable {
    /// 200 ms: what waits longer is dropped, oldest first.
    private static let queueCapacity = 10

    private let channels: Int
    private let bitrate: Bitrate
    private let encoded: @Sendable (EncodedFrame) -> Void
    private let failed: @Sendable (String) -> Void
    private let queue = FrameQueue<AudioFrame>(capacity: queueCapacity)
    private let isResting = Atomic(false)
    /// Per cent of the packets, as the platform last reported.
    private let expectedLoss = Atomic(0)
    private let thread = Mutex<WorkerThread?>(nil)

    /// - Parameters:
    ///   - channels: 1 or 2.
    ///   - encoded: is called on the encoder's thread.
    ///   - failed: is called at most once, with words for people.
    init(
        channels: Int, bitrate: Bitrate, encoded: @escaping @Sendable (EncodedFrame) -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) {
        self.channels = channels
        self.bitrate = bitrate
        self.encoded = encoded
        self.failed = failed
    }

    func start() throws(PCastError) {
        do throws(IOError) {
            let worker = try WorkerThread(name: "encode-audio", precedence: .media) { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            throw PCastError(.failed, .device, "no thread for the audio encoder: \(error)")
        }
    }

    /// Lets the encoder's thread end after the packet that it is at, and waits for that.
    func stop() {
        queue.close()
        thread.withLock { $0 }?.join()
    }

    func push(_ frame: AudioFrame) {
        if !isResting.load(ordering: .relaxed) { queue.push(frame) }
    }

    /// Nothing is encoded while it rests: nobody takes it.
    func setResting(_ isResting: Bool) { self.isResting.store(isResting, ordering: .relaxed) }

    /// Tells the encoder how much of what it makes is lost, 0 to 1: by that it puts more or less of each packet into the
    /// next (in-band forward error correction).
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

import Foundation
import PCastCodecs
import PCastCore
import PCastDevices
import PCastIO
import Synchronization

/// A camera whose buffers are a file in memory: raw YUYV frames, dequeued at a constant rate and repeated. Larger frames
/// are scaled like those of a camera that lacks a size.
final class MemoryCamera: VideoSource {
    let dimensions: Dimensions
    /// The size of the frames in memory.
    private let captured: Dimensions
    let nominalFrameRate: Double
    /// The number of frames until it ends.
    private let count: Int
    private let frames: Data
    private let sleep = CancellableSleep()
    private let thread = Mutex<WorkerThread?>(nil)

    init(path: String, captured: Dimensions, dimensions: Dimensions, frameRate: Int, count: Int) throws {
        (self.captured, self.dimensions) = (captured, dimensions)
        self.count = count
        nominalFrameRate = Double(frameRate)
        frames = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        guard frames.count >= frameSize else { throw BenchFailure("\(path) contains no frame of \(captured)") }
    }

    private var frameSize: Int { captured.width * captured.height * 2 }

    func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        do {
            let worker = try WorkerThread(name: "memory-camera") { [self] in
                run(deliver)
                ended(.ended)
            }
            thread.withLock { $0 = worker }
        } catch {
            throw .noThread("\(error)")
        }
    }

    private func run(_ deliver: (VideoSample) -> Void) {
        let (converter, scaler) = (RawFrameConverter(), FrameScaler())
        let rate = ClockRate(hertz: Int64(nominalFrameRate))
        let origin = MonotonicClock.now()
        frames.withUnsafeBytes { bytes in
            for index in 0..<count {
                guard sleep.sleep(until: origin + rate.span(ofTicks: Int64(index))) else { return }
                let offset = index % (bytes.count / frameSize) * frameSize
                // The time of dequeuing, from which the time to encoding is measured.
                let frame = try? converter.convert(
                    UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + frameSize]), format: .yuyv,
                    dimensions: captured, stride: captured.width * 2, isFullRange: false,
                    captureTime: MonotonicClock.wallTime(),
                    timestamp: MediaTime(ticks: Int64(index), rate: rate))
                if let frame { deliver(.frame(scaler.scale(frame, to: dimensions))) }
            }
        }
    }

    func stop() {
        sleep.cancel()
        thread.withLock { $0 }?.join()
    }
}

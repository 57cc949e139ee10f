import Foundation
import PCastCodecs
import PCastCore
import PCastDevices
import PCastIO
import Synchronization

/// A camera whose buffers are a file in memory: raw YUYV frames, dequeued at a constant rate and repeated.
final class MemoryCamera: VideoSource {
    let dimensions: Dimensions
    let nominalFrameRate: Double
    /// The number of frames until it ends.
    private let count: Int
    private let frames: Data
    private let sleep = CancellableSleep()
    private let thread = Mutex<WorkerThread?>(nil)

    init(path: String, dimensions: Dimensions, frameRate: Int, count: Int) throws {
        self.dimensions = dimensions
        self.count = count
        nominalFrameRate = Double(frameRate)
        frames = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        guard frames.count >= frameSize else { throw BenchFailure("\(path) contains no frame of \(dimensions)") }
    }

    private var frameSize: Int { dimensions.width * dimensions.height * 2 }

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
        let converter = RawFrameConverter()
        let rate = ClockRate(hertz: Int64(nominalFrameRate))
        let origin = MonotonicClock.now()
        frames.withUnsafeBytes { bytes in
            for index in 0..<count {
                guard sleep.sleep(until: origin + rate.span(ofTicks: Int64(index))) else { return }
                let offset = index % (bytes.count / frameSize) * frameSize
                // The time of dequeuing, from which the time to encoding is measured.
                let frame = try? converter.convert(
                    UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + frameSize]), format: .yuyv,
                    dimensions: dimensions, stride: dimensions.width * 2, isFullRange: false,
                    captureTime: MonotonicClock.wallTime(),
                    timestamp: MediaTime(ticks: Int64(index), rate: rate))
                if let frame { deliver(.frame(frame)) }
            }
        }
    }

    func stop() {
        sleep.cancel()
        thread.withLock { $0 }?.join()
    }
}

package import PCastCore
import PCastIO

/// A camera of a PipeWire server.
///
/// Frames are converted on libpipewire's thread, and delivered on the source's own one. A camera or a server that
/// disappears, and a camera that delivers nothing, are `.vanished`.
package final class PipeWireCameraSource: VideoSource {
    /// The state that the threads of PipeWire and of the source share.
    private struct Slot {
        /// The newest frames that were not delivered.
        var frames: [VideoFrame] = []
        var dimensions: Dimensions
        var leftOut: Int64 = 0
        var end: String?
        var isStopped = false
        var worker: WorkerThread?
    }

    /// The most frames that wait, as many as an encoder's queue holds.
    private static let mostWaiting = 2

    /// The time without a frame after which the camera is over. Some cameras take seconds to start.
    private static let timeout = TimeSpan.seconds(5)

    /// The name of the camera's node.
    package let name: String
    /// The frame rate of the configuration, in frames per second.
    package let nominalFrameRate: Double
    private let offer: PipeWirePod
    private let slot: Monitor<Slot>

    /// Finds a camera. It is opened by `start`.
    ///
    /// - Parameters:
    ///   - name: The name of the camera's node.
    ///   - configuration: The format. `.computed` leaves the encoding to the cheapest one that the camera offers.
    /// - Throws: `DeviceError.notFound`, or `.faulty` if it does not offer the format.
    package init(name: String, configuration: VideoConfiguration) throws(DeviceError) {
        let formats = try PipeWireCameras.formats(of: name)
        guard let offer = PipeWireCameraFormats.offer(configuration, of: formats) else {
            throw .faulty(name, reason: "it does not offer \(configuration.encoding.name).")
        }
        self.name = name
        self.offer = offer
        nominalFrameRate = configuration.frameRate.perSecond
        slot = Monitor(Slot(dimensions: configuration.dimensions))
    }

    deinit { stop() }

    /// The size of the frames.
    package var dimensions: Dimensions { slot.withLock { slot, _ in slot.dimensions } }

    /// The number of frames that were skipped because the consumer was late.
    package var leftOutCount: Int64 { slot.withLock { slot, _ in slot.leftOut } }

    /// Opens the camera. `deliver` receives frames and `ended` the end of the source. Throws `DeviceError`.
    package func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (slot, name) = (slot, name)
        let stream = try PipeWireVideoStream(
            .camera(name), PipeWireConnection(name), offer: offer, reference: MonotonicClock.reference(),
            receive: { frame in
                slot.withLock { slot, condition in
                    if slot.frames.count >= Self.mostWaiting {
                        slot.frames.removeFirst()
                        slot.leftOut += 1
                    }
                    slot.frames.append(frame)
                    slot.dimensions = frame.dimensions
                    condition.wakeAll()
                }
            },
            changed: { change in
                guard case .over(let reason) = change else { return }
                slot.withLock { slot, condition in
                    slot.end = slot.end ?? reason
                    condition.wakeAll()
                }
            })
        let worker: WorkerThread
        do throws(IOError) {
            worker = try WorkerThread(name: "camera", precedence: .media) {
                let end = Self.run(slot, name, deliver)
                stream.close()
                if let end { ended(end) }
            }
        } catch {
            stream.close()
            throw .noThread("\(error)")
        }
        slot.withLock { slot, _ in slot.worker = worker }
    }

    /// Stops capturing and releases the camera.
    package func stop() {
        let worker = slot.withLock { slot, condition in
            slot.isStopped = true
            condition.wakeAll()
            return slot.worker
        }
        worker?.join()
    }

    private enum Step {
        case frame(VideoFrame)
        case end(String)
        case stopped
    }

    /// Delivers frames until the source is stopped (nil) or ends.
    private static func run(_ slot: Monitor<Slot>, _ name: String, _ deliver: (VideoSample) -> Void) -> SourceEnd? {
        while true {
            let step: Step? = slot.wait(until: MonotonicClock.now() + timeout) { slot in
                if slot.isStopped { return .stopped }
                if !slot.frames.isEmpty { return .frame(slot.frames.removeFirst()) }
                return slot.end.map { .end($0) }
            }
            switch step {
            case .frame(let frame): deliver(.frame(frame))
            case .end(let reason): return .vanished("\(name) ended: \(reason)")
            case .stopped: return nil
            case nil: return .vanished("\(name) delivers no frames")
            }
        }
    }
}

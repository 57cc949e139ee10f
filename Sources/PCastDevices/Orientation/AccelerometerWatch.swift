import PCastIO
public import PCastMedia
import Synchronization

/// How this device is held, watched on one thread for as long as anyone wants to know.
///
/// The accelerometer is read about seven times a second: a hand takes longer to turn a device, and each read wakes the
/// sensor. One that goes away is looked for again once a second, and the last orientation holds meanwhile.
public final class AccelerometerWatch: Sendable {
    /// Between two readings.
    public static let interval = TimeSpan.milliseconds(150)

    /// Readings between two looks for an accelerometer that is not there.
    private static let patience: Int64 = 7

    private struct State {
        var followers: [Int: @Sendable (Orientation) -> Void] = [:]
        var nextFollower = 0
        /// Kept from watch to watch, as a device that was laid down meanwhile keeps it.
        var orientation: Orientation?
        /// Whether this watch has told an orientation.
        var hasTold = false
        var pace: PacedThread?
    }

    private let folders: Accelerometer.Folders
    private let state = Mutex(State())

    /// - Parameter folders: where the sensors are; another than the system's in tests.
    public init(folders: Accelerometer.Folders = .system) { self.folders = folders }

    /// Whether there is an accelerometer now. Reads a few files.
    public var isPresent: Bool { Accelerometer.find(in: folders) != nil }

    /// How the device is held, as last felt; nil when there was no accelerometer, or nobody ever watched.
    public var orientation: Orientation? { state.withLock { $0.orientation } }

    /// Begins to watch, or joins who does.
    ///
    /// - Parameter changed: is called with the present orientation, at once or when it is first felt, and then on the
    ///   watching thread with each other one; it must not block.
    /// - Returns: a hold on the watch, which goes on until its `cancel` or its end.
    /// - Throws: `.noThread`.
    public func follow(_ changed: @escaping @Sendable (Orientation) -> Void) throws(DeviceError) -> Following {
        let (number, known, pace) = state.withLock { state -> (Int, Orientation?, PacedThread?) in
            let number = state.nextFollower
            state.nextFollower += 1
            state.followers[number] = changed
            guard state.pace == nil else { return (number, state.hasTold ? state.orientation : nil, nil) }
            let pace = PacedThread()
            state.pace = pace
            state.hasTold = false
            return (number, nil, pace)
        }
        let following = Following(watch: self, number: number)
        guard let pace else {
            if let known { changed(known) }
            return following
        }
        let reading = Mutex<Accelerometer?>(nil)
        do {
            try pace.start(
                name: "accelerometer", from: MonotonicClock.now(), due: { Self.interval * $0 }, patience: Self.interval
            ) { [weak self] beat, _ in self?.beat(beat, reading) }
        } catch {
            following.cancel()
            throw error
        }
        return following
    }

    /// One reading.
    private func beat(_ beat: Int64, _ reading: borrowing Mutex<Accelerometer?>) {
        let accelerometer = reading.withLock { accelerometer in
            if accelerometer == nil, beat % Self.patience == 0 { accelerometer = Accelerometer.find(in: folders) }
            return accelerometer
        }
        guard let accelerometer else { return }
        guard let gravity = accelerometer.read() else { return reading.withLock { $0 = nil } }
        let told = state.withLock { state -> (Orientation, [@Sendable (Orientation) -> Void])? in
            var orientation = state.orientation ?? Orientation()
            orientation.feel(gravity)
            guard orientation != state.orientation || !state.hasTold else { return nil }
            state.orientation = orientation
            state.hasTold = true
            return (orientation, Array(state.followers.values))
        }
        guard let (orientation, followers) = told else { return }
        for follower in followers { follower(orientation) }
    }

    fileprivate func leave(_ number: Int) {
        let pace = state.withLock { state -> PacedThread? in
            guard state.followers.removeValue(forKey: number) != nil, state.followers.isEmpty else { return nil }
            defer { state.pace = nil }
            return state.pace
        }
        pace?.stop()
    }

    /// Keeps the watch going.
    public final class Following: Sendable {
        private let watch: AccelerometerWatch
        private let number: Int

        fileprivate init(watch: AccelerometerWatch, number: Int) {
            self.watch = watch
            self.number = number
        }

        deinit { cancel() }

        /// Ends it; with the last one the thread ends too, and has ended when this returns, unless it is the caller.
        /// Harmless when called again.
        public func cancel() { watch.leave(number) }
    }
}

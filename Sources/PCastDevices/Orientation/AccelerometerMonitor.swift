package import PCastCore
import PCastIO
import Synchronization

/// Watches the orientation of this device on one thread while there are followers.
///
/// It reads the accelerometer about seven times per second. Turning a device by hand takes longer, and each reading
/// wakes the sensor. A sensor that disappears is searched for once per second, and the last orientation is kept
/// meanwhile.
package final class AccelerometerMonitor: Sendable {
    /// The interval of the readings.
    package static let interval = TimeSpan.milliseconds(150)

    /// The number of readings between searches for a missing accelerometer.
    private static let timeout: Int64 = 7

    private struct State {
        var followers: [Int: @Sendable (Orientation) -> Void] = [:]
        var nextFollower = 0
        /// The last known orientation, which is kept while there are no followers; nil before the first reading.
        var orientation: Orientation?
        /// Whether an orientation was reported since the thread was started.
        var hasReported = false
        var pace: PacedThread?
    }

    private let folders: Accelerometer.Folders
    private let state = Mutex(State())

    /// Creates a watch. Tests pass other folders than those of the system.
    package init(folders: Accelerometer.Folders = .system) { self.folders = folders }

    /// Whether there is an accelerometer now. It reads a few files.
    package var isPresent: Bool { Accelerometer.find(in: folders) != nil }

    /// The last known orientation; nil if there was no accelerometer, or if there has never been a follower.
    package var orientation: Orientation? { state.withLock { $0.orientation } }

    /// Follows the orientation.
    ///
    /// - Parameter changed: A callback with the current orientation, at once or when it is first known, and then with
    ///   each change on the watching thread. It must not block.
    /// - Returns: A subscription, which lasts until its `cancel` or its deinitialization.
    /// - Throws: `DeviceError.noThread`.
    package func follow(_ changed: @escaping @Sendable (Orientation) -> Void) throws(DeviceError) -> Following {
        let (number, known, pace) = state.withLock { state -> (Int, Orientation?, PacedThread?) in
            let number = state.nextFollower
            state.nextFollower += 1
            state.followers[number] = changed
            guard state.pace == nil else { return (number, state.hasReported ? state.orientation : nil, nil) }
            let pace = PacedThread()
            state.pace = pace
            state.hasReported = false
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
                name: "accelerometer", from: MonotonicClock.now(), due: { Self.interval * $0 }, timeout: Self.interval
            ) { [weak self] tick, _ in self?.takeReading(tick, reading) }
        } catch {
            following.cancel()
            throw error
        }
        return following
    }

    /// Takes one reading.
    private func takeReading(_ tick: Int64, _ reading: borrowing Mutex<Accelerometer?>) {
        let accelerometer = reading.withLock { accelerometer in
            if accelerometer == nil, tick % Self.timeout == 0 { accelerometer = Accelerometer.find(in: folders) }
            return accelerometer
        }
        guard let accelerometer else { return }
        guard let gravity = accelerometer.read() else { return reading.withLock { $0 = nil } }
        let change = state.withLock { state -> (Orientation, [@Sendable (Orientation) -> Void])? in
            var orientation = state.orientation ?? Orientation()
            orientation.update(gravity)
            guard orientation != state.orientation || !state.hasReported else { return nil }
            state.orientation = orientation
            state.hasReported = true
            return (orientation, Array(state.followers.values))
        }
        guard let (orientation, followers) = change else { return }
        for follower in followers { follower(orientation) }
    }

    fileprivate func removeFollower(_ number: Int) {
        let pace = state.withLock { state -> PacedThread? in
            guard state.followers.removeValue(forKey: number) != nil, state.followers.isEmpty else { return nil }
            defer { state.pace = nil }
            return state.pace
        }
        pace?.stop()
    }

    /// A subscription to the orientation.
    package final class Following: Sendable {
        private let watch: AccelerometerMonitor
        private let number: Int

        fileprivate init(watch: AccelerometerMonitor, number: Int) {
            self.watch = watch
            self.number = number
        }

        deinit { cancel() }

        /// Ends the subscription. With the last one, the thread ends, and has ended when this returns, unless it is the
        /// caller. It may be called repeatedly.
        package func cancel() { watch.removeFollower(number) }
    }
}

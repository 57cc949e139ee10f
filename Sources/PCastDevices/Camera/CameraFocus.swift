import CV4L2
import PCastMedia

/// What a camera's focus does at this moment.
public enum FocusState: Hashable, Sendable {
    /// Follows the picture, or does what the camera sees fit.
    case free
    /// Looks for the distance at which it will stay.
    case searching
    /// Stays where it is.
    case locked
    /// Found no distance, and stays where it stopped.
    case failed
}

/// A camera's focus by its controls.
struct CameraFocus: Sendable {
    private enum Search: Sendable {
        /// The camera searches once and stays.
        case once(until: Instant)
        /// It follows the picture, and is locked then.
        case following(until: Instant)
    }

    /// For cameras that do not say when they are done: webcams take one to two seconds from end to end.
    private static let followingLength = TimeSpan.seconds(2)
    private static let longestSearch = TimeSpan.seconds(5)

    private(set) var state = FocusState.free
    private var search: Search?
    private var mode = AutoFocusMode.automatic
    private var target: FocusTarget?

    /// - Parameters:
    ///   - target: in the camera's own picture, before it is turned.
    ///   - size: of that picture.
    /// - Returns: why something cannot be as asked.
    mutating func apply(
        _ mode: AutoFocusMode, target: FocusTarget?, size: Dimensions, at now: Instant,
        _ settings: inout ControlSettings
    ) -> [DeviceCapability: String] {
        var unmet: [DeviceCapability: String] = [:]
        // Focusing once is done again when it is asked for again at another place, not for a change of the light.
        let isSame = mode == self.mode && target == self.target
        if target != self.target || target != nil, let reason = aim(target, size, &settings) {
            unmet[.autoFocusTarget] = reason
        }
        self.target = target
        if isSame, mode == .autoThenLocked, state != .failed { return unmet }
        cancelSearch(&settings)
        self.mode = mode
        if let reason = begin(mode, now, &settings) { unmet[.autoFocusMode] = reason }
        return unmet
    }

    private mutating func begin(_ mode: AutoFocusMode, _ now: Instant, _ settings: inout ControlSettings) -> String? {
        switch mode {
        case .automatic: return release(&settings)
        case .continuous: return follow(&settings) ? nil : "the camera does not focus of itself"
        case .locked: return lock(&settings) ? nil : "the camera cannot hold its focus"
        case .autoThenLocked: return begin(now, &settings)
        }
    }

    /// As the driver has it from the beginning.
    private mutating func release(_ settings: inout ControlSettings) -> String? {
        state = .free
        holdFocus(false, &settings)
        if let control = settings.list.settable(V4L2_CID_FOCUS_AUTO) {
            _ = settings.set(V4L2_CID_FOCUS_AUTO, control.standard)
        }
        return nil
    }

    private mutating func follow(_ settings: inout ControlSettings) -> Bool {
        holdFocus(false, &settings)
        guard settings.set(V4L2_CID_FOCUS_AUTO, 1) else { return false }
        state = .free
        return true
    }

    private mutating func lock(_ settings: inout ControlSettings) -> Bool {
        let isHeld =
            settings.set(V4L2_CID_FOCUS_AUTO, 0) || holdFocus(true, &settings)
            || settings.list.settable(V4L2_CID_FOCUS_ABSOLUTE) != nil
                && settings.list.settable(V4L2_CID_FOCUS_AUTO) == nil
        if isHeld { state = .locked }
        return isHeld
    }

    private mutating func begin(_ now: Instant, _ settings: inout ControlSettings) -> String? {
        holdFocus(false, &settings)
        if settings.list.settable(V4L2_CID_AUTO_FOCUS_START) != nil {
            // Focusing once while it follows the picture is undefined (V4L2's camera control reference).
            _ = settings.set(V4L2_CID_FOCUS_AUTO, 0)
            guard settings.press(V4L2_CID_AUTO_FOCUS_START) else { return "the camera does not begin to focus" }
            search = .once(until: now + Self.longestSearch)
        } else {
            guard settings.set(V4L2_CID_FOCUS_AUTO, 1) else { return "the camera does not focus of itself" }
            search = .following(until: now + Self.followingLength)
        }
        state = .searching
        return nil
    }

    /// Sees whether a search is over.
    mutating func advance(at now: Instant, _ settings: inout ControlSettings) {
        guard let search else { return }
        let status = settings.value(V4L2_CID_AUTO_FOCUS_STATUS).map(Int32.init(clamping:))
        let isBusy = status.map { $0 & V4L2_AUTO_FOCUS_STATUS_BUSY != 0 }
        let hasFailed = status.map { $0 & V4L2_AUTO_FOCUS_STATUS_FAILED != 0 } ?? false
        let hasReached = status.map { $0 & V4L2_AUTO_FOCUS_STATUS_REACHED != 0 } ?? false
        switch search {
        case .once(let end):
            if isBusy == false {
                finish(hasFailed ? .failed : .locked)
            } else if now >= end {
                _ = settings.press(V4L2_CID_AUTO_FOCUS_STOP)
                finish(isBusy == true ? .failed : .locked)
            }
        case .following(let end):
            guard hasReached || now >= end else { return }
            finish(lock(&settings) && !hasFailed ? .locked : .failed)
        }
    }

    private mutating func finish(_ state: FocusState) {
        search = nil
        self.state = state
    }

    private mutating func cancelSearch(_ settings: inout ControlSettings) {
        if case .once = search { _ = settings.press(V4L2_CID_AUTO_FOCUS_STOP) }
        search = nil
    }

    /// Moves the focus by hand, which ends what is automatic.
    ///
    /// - Parameter nearness: from 0 for the farthest to 1 for the nearest: V4L2's positions grow towards the camera.
    mutating func move(to nearness: Double, _ settings: inout ControlSettings) -> String? {
        guard mode != .locked else { return "the focus is locked" }
        guard let control = settings.list.settable(V4L2_CID_FOCUS_ABSOLUTE) else {
            return "the camera's focus cannot be moved"
        }
        cancelSearch(&settings)
        _ = settings.set(V4L2_CID_FOCUS_AUTO, 0)
        let steps = Double(control.maximum - control.minimum) / Double(max(control.step, 1))
        let value = control.minimum + Int64((nearness * steps).rounded()) * max(control.step, 1)
        guard settings.set(V4L2_CID_FOCUS_ABSOLUTE, min(value, control.maximum)) else {
            return "the camera does not move its focus"
        }
        state = .locked
        return nil
    }

    /// Holds what the camera sets of itself, where it can.
    @discardableResult
    private func holdFocus(_ wish: Bool, _ settings: inout ControlSettings) -> Bool {
        guard CameraFeatures.canLockFocus(settings.list), let locks = settings.value(V4L2_CID_3A_LOCK) else {
            return false
        }
        let focus = Int64(V4L2_LOCK_FOCUS)
        return settings.set(V4L2_CID_3A_LOCK, wish ? locks | focus : locks & ~focus)
    }
}

import CV4L2
import PCastCore

/// The current state of a camera's focus.
package enum FocusState: Hashable, Sendable {
    /// The focus is continuous, or as the camera decides.
    case free
    /// The focus is searching for a distance that it will keep.
    case searching
    /// The focus is fixed.
    case locked
    /// The search failed. The focus stays where it stopped.
    case failed
}

/// The focus of a camera.
struct CameraFocus: Sendable {
    private enum Search: Sendable {
        /// The camera searches once and stops.
        case once(until: Instant)
        /// The camera focuses continuously and is locked at this time.
        case following(until: Instant)
    }

    /// The duration of a search for cameras that do not report its end. Webcams take one to two seconds for the whole
    /// range.
    private static let followingLength = TimeSpan.seconds(2)
    private static let longestSearch = TimeSpan.seconds(5)

    private(set) var state = FocusState.free
    private var search: Search?
    private var mode = AutoFocusMode.automatic
    private var target: FocusTarget?

    /// Applies a focus mode and a target. The target is a position in the frames before rotation, whose size is
    /// `size`. Returns the reason for each capability that is unsatisfied.
    mutating func apply(
        _ mode: AutoFocusMode, target: FocusTarget?, size: Dimensions, at now: Instant,
        _ settings: inout ControlSettings
    ) -> [DeviceCapability: String] {
        var unmet: [DeviceCapability: String] = [:]
        // A single search is repeated if a target is requested again, but not if only the flash changed.
        let isSame = mode == self.mode && target == self.target
        if target != self.target || target != nil, let reason = setTarget(target, size, &settings) {
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
        case .continuous: return follow(&settings) ? nil : "the camera has no autofocus"
        case .locked: return lock(&settings) ? nil : "the camera cannot lock its focus"
        case .autoThenLocked: return begin(now, &settings)
        }
    }

    /// Restores the driver's default.
    private mutating func release(_ settings: inout ControlSettings) -> String? {
        state = .free
        lockFocus(false, &settings)
        if let control = settings.list.settable(V4L2_CID_FOCUS_AUTO) {
            _ = settings.set(V4L2_CID_FOCUS_AUTO, control.standard)
        }
        return nil
    }

    private mutating func follow(_ settings: inout ControlSettings) -> Bool {
        lockFocus(false, &settings)
        guard settings.set(V4L2_CID_FOCUS_AUTO, 1) else { return false }
        state = .free
        return true
    }

    private mutating func lock(_ settings: inout ControlSettings) -> Bool {
        let isHeld =
            settings.set(V4L2_CID_FOCUS_AUTO, 0) || lockFocus(true, &settings)
            || settings.list.settable(V4L2_CID_FOCUS_ABSOLUTE) != nil
                && settings.list.settable(V4L2_CID_FOCUS_AUTO) == nil
        if isHeld { state = .locked }
        return isHeld
    }

    private mutating func begin(_ now: Instant, _ settings: inout ControlSettings) -> String? {
        lockFocus(false, &settings)
        if settings.list.settable(V4L2_CID_AUTO_FOCUS_START) != nil {
            // A single search during continuous focus is undefined (V4L2 documentation, camera control reference).
            _ = settings.set(V4L2_CID_FOCUS_AUTO, 0)
            guard settings.press(V4L2_CID_AUTO_FOCUS_START) else { return "the camera does not start autofocus" }
            search = .once(until: now + Self.longestSearch)
        } else {
            guard settings.set(V4L2_CID_FOCUS_AUTO, 1) else { return "the camera has no autofocus" }
            search = .following(until: now + Self.followingLength)
        }
        state = .searching
        return nil
    }

    /// Checks whether a search has ended.
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

    /// Moves the focus manually, which ends automatic focus. `focusPosition` is from 0 for the farthest to 1 for the
    /// nearest distance; V4L2's values grow towards the camera. Returns the reason if that is not possible.
    mutating func move(to focusPosition: Double, _ settings: inout ControlSettings) -> String? {
        guard mode != .locked else { return "the focus is locked" }
        guard let control = settings.list.settable(V4L2_CID_FOCUS_ABSOLUTE) else {
            return "the camera's focus cannot be set"
        }
        cancelSearch(&settings)
        _ = settings.set(V4L2_CID_FOCUS_AUTO, 0)
        let steps = Double(control.maximum - control.minimum) / Double(max(control.step, 1))
        let value = control.minimum + Int64((focusPosition * steps).rounded()) * max(control.step, 1)
        guard settings.set(V4L2_CID_FOCUS_ABSOLUTE, min(value, control.maximum)) else {
            return "the camera rejects the focus position"
        }
        state = .locked
        return nil
    }

    /// Locks or unlocks the automatic focus. Returns whether the camera supports it.
    @discardableResult
    private func lockFocus(_ isLocked: Bool, _ settings: inout ControlSettings) -> Bool {
        guard CameraFeatures.canLockFocus(settings.list), let locks = settings.value(V4L2_CID_3A_LOCK) else {
            return false
        }
        let focus = Int64(V4L2_LOCK_FOCUS)
        return settings.set(V4L2_CID_3A_LOCK, isLocked ? locks | focus : locks & ~focus)
    }
}

extension CameraFocus {
    /// Sets the region to focus on; nil resets it. Returns the reason if that is not possible.
    func setTarget(_ target: FocusTarget?, _ size: Dimensions, _ settings: inout ControlSettings) -> String? {
        guard let control = CameraFeatures.focusTarget(settings.list) else {
            return target == nil ? nil : "the camera has no region of interest"
        }
        // The unit is sensor pixels. The sensor's size is the maximum region, or the default one if the kernel does not
        // report a maximum.
        let sensor =
            settings.region(control, which: CV4L2_WHICH_MAXIMUM)
            ?? settings.region(control, which: CV4L2_WHICH_DEFAULT)
            ?? SensorRegion(width: size.width, height: size.height)
        guard settings.set(control, target.map(sensor.around) ?? sensor) else {
            return "the camera rejects the region of interest"
        }
        let automatic = Int32(CV4L2_CID_REGION_OF_INTEREST_AUTO)
        if let control = settings.list.settable(automatic), control.offers(Int64(CV4L2_REGION_OF_INTEREST_AUTO_FOCUS)) {
            let bits = settings.value(automatic) ?? 0
            _ = settings.set(automatic, bits | Int64(CV4L2_REGION_OF_INTEREST_AUTO_FOCUS))
        }
        return nil
    }
}

import PCastCodecs
import Synchronization

/// The current rotation of a camera's frames: by the orientation of the device, or by that of the application's user
/// interface. The accelerometer is read only while it is needed.
final class RotationGuide: Sendable {
    private struct State {
        var policy = RotationPolicy(mode: .automatic)
        var device: Orientation?
        var userInterface = FrameRotation.none
        var following: AccelerometerMonitor.Following?
        var decision = RotationPolicy.Decision(turn: .none, guide: .userInterface)
        var onRotation: (@Sendable () -> Void)?

        mutating func decide() { decision = policy.decide(device: device, userInterface: userInterface) }
    }

    private let accelerometer: AccelerometerMonitor
    private let state = Mutex(State())

    init(accelerometer: AccelerometerMonitor) { self.accelerometer = accelerometer }

    var turn: FrameRotation { state.withLock { $0.decision.turn } }

    /// Whether the device's orientation was requested but is unavailable.
    var isUnmet: Bool { state.withLock { $0.decision.isUnmet } }

    /// Has a change of ``turn`` reported, on the thread that causes it.
    func setRotationCallback(_ callback: @escaping @Sendable () -> Void) { state.withLock { $0.onRotation = callback } }

    func setUserInterface(_ turn: FrameRotation) { change { $0.userInterface = turn } }

    private func change(_ body: (inout State) -> Void) {
        let onRotation = state.withLock { state in
            let former = state.decision.turn
            body(&state)
            state.decide()
            return state.decision.turn == former ? nil : state.onRotation
        }
        onRotation?()
    }

    /// Adopts the rotation policy of a selection; nil and other devices than cameras have none.
    func follow(_ selection: VideoSelection?) {
        guard let selection, case .video(let capabilities) = selection.device.capabilities,
            selection.device.info.deviceType == .physical
        else { return stopFollowing(RotationPolicy(mode: .followUIRotation)) }
        let policy = RotationPolicy(
            mode: selection.configuration.rotationMode,
            mounting: FrameRotation(degrees: capabilities.mountRotation * 90) ?? .none,
            facing: selection.device.info.facingMode)
        guard policy.mode != .followUIRotation, accelerometer.isPresent else { return stopFollowing(policy) }
        change { $0.policy = policy }
        guard state.withLock({ $0.following == nil }) else { return }
        let following = try? accelerometer.follow { [weak self] orientation in
            self?.change { $0.device = orientation }
        }
        state.withLock { $0.following = following }
    }

    /// Stops reading the accelerometer.
    func stop() { stopFollowing(RotationPolicy(mode: .followUIRotation)) }

    private func stopFollowing(_ policy: RotationPolicy) {
        let following = state.withLock { state in
            defer { state.following = nil }
            return state.following
        }
        change { state in
            state.policy = policy
            state.device = nil
        }
        following?.cancel()
    }
}

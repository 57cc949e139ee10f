import PCastCodecs
import Synchronization

/// The current rotation of a camera's frames: by the orientation of the device, or by that of the application's user
/// interface. The accelerometer is read only while it is needed.
final class RotationGuide: Sendable {
    private struct State {
        var policy = RotationPolicy(mode: .automatic)
        var device: Orientation?
        var userInterface = PictureTurn.none
        var following: AccelerometerWatch.Following?
        var decision = RotationPolicy.Decision(turn: .none, guide: .userInterface)

        mutating func decide() { decision = policy.decide(device: device, userInterface: userInterface) }
    }

    private let accelerometer: AccelerometerWatch
    private let state = Mutex(State())

    init(accelerometer: AccelerometerWatch) { self.accelerometer = accelerometer }

    var turn: PictureTurn { state.withLock { $0.decision.turn } }

    /// Whether the device's orientation was requested but is unavailable.
    var isUnmet: Bool { state.withLock { $0.decision.isUnmet } }

    func setUserInterface(_ turn: PictureTurn) {
        state.withLock { state in
            state.userInterface = turn
            state.decide()
        }
    }

    /// Adopts the rotation policy of a selection; nil and other devices than cameras have none.
    func follow(_ selection: VideoSelection?) {
        guard let selection, case .video(let capabilities) = selection.device.capabilities,
            selection.device.info.deviceType == .physical
        else { return leave(RotationPolicy(mode: .followUIRotation)) }
        let policy = RotationPolicy(
            mode: selection.configuration.rotationMode,
            mounting: PictureTurn(degrees: capabilities.mountingTurns * 90) ?? .none,
            facing: selection.device.info.facingMode)
        guard policy.mode != .followUIRotation, accelerometer.isPresent else { return leave(policy) }
        let isFollowing = state.withLock { state in
            state.policy = policy
            state.decide()
            return state.following != nil
        }
        guard !isFollowing else { return }
        let following = try? accelerometer.follow { [weak self] orientation in
            self?.state.withLock { state in
                state.device = orientation
                state.decide()
            }
        }
        state.withLock { $0.following = following }
    }

    /// Stops reading the accelerometer.
    func stop() { leave(RotationPolicy(mode: .followUIRotation)) }

    private func leave(_ policy: RotationPolicy) {
        let following = state.withLock { state in
            defer { state.following = nil }
            state.policy = policy
            state.device = nil
            state.decide()
            return state.following
        }
        following?.cancel()
    }
}

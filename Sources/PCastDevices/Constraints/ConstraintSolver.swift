/// Chooses among devices, and how the chosen one is opened, by what was asked for.
///
/// The model is the SelectSettings algorithm of the W3C's Media Capture and Streams
/// (https://www.w3.org/TR/mediacapture-streams/#dfn-selectsettings): every configuration of every device has a fitness
/// distance, which is infinite where it does not meet a demand (`min`, `max`, `exact`) and otherwise the sum of its
/// distances from the wishes (`ideal`), `|actual - ideal| / max(actual, ideal)` for numbers and 0 or 1 for all else.
/// The smallest wins. What the specification leaves open is settled here, in this order:
///
/// 1. The device that was wished by its identifier (`deviceID`).
/// 2. Hardware before what the system shows, that before what computation makes, and nothing (`null`) last: no wish for
///    a size makes a black picture out of a camera.
/// 3. The sum of all distances.
/// 4. A microphone with two channels before one that is doubled, where stereo is wished or demanded. It is no distance:
///    a stream of two equal channels is what stereo means of one microphone.
/// 5. The order in which the devices were given.
/// 6. Without wishes, as near as can be to 1280x720 (or to the shape 16:9, once the width or the height is given) at 30
///    pictures a second. It is of the pictures as they leave the sensor.
/// 7. The encoding that costs the least of a processor.
/// 8. Larger pictures; then the rate nearest to the one that is named; then more pictures a second.
///
/// Frame rates that differ by 1 % or less are the same, for every kind of constraint: a camera at 30000/1001 meets 29.97
/// and 30. A constraint of what a medium has not (a flash of a microphone) counts nothing, as in the specification. Nothing
/// is scaled: only sizes that the device itself has.
public enum ConstraintSolver {
    /// A source of pictures.
    ///
    /// - Parameters:
    ///   - devices: the candidates, the best first; those of sound are passed over.
    ///   - prefersCoded: whether H.264 of the camera's own is wanted as it is. If not, it is used of a camera that has
    ///     nothing else, to be decoded.
    /// - Returns: nil when there is no device that hands over pictures.
    /// - Throws: a demand that no device can meet.
    public static func selectVideo(
        from devices: [SourceDevice], constraints: DeviceConstraints = [:], prefersCoded: Bool = false
    ) throws(ConstraintFailure) -> VideoSelection? {
        let aims = CapabilityAims(constraints)
        var candidates: [ConstraintCandidate<VideoConfiguration>] = []
        for (order, device) in devices.enumerated() {
            guard case .video(let capabilities) = device.capabilities else { continue }
            let formats = VideoFormatSearch(capabilities: capabilities, aims: aims, prefersCoded: prefersCoded)
            guard let format = formats.best() else { continue }
            candidates.append(
                ConstraintCandidate(
                    device: device, order: order, format: format, capabilities: capabilities, aims: aims))
        }
        return try select(among: candidates, aims: aims)
    }

    /// A source of sound.
    ///
    /// - Parameter devices: the candidates, the best first; those of pictures are passed over.
    /// - Returns: nil when there is no device of sound.
    /// - Throws: a demand that no device can meet.
    public static func selectAudio(
        from devices: [SourceDevice], constraints: DeviceConstraints = [:]
    ) throws(ConstraintFailure) -> AudioSelection? {
        let aims = CapabilityAims(constraints)
        var candidates: [ConstraintCandidate<AudioConfiguration>] = []
        for (order, device) in devices.enumerated() {
            guard case .audio(let capabilities) = device.capabilities else { continue }
            candidates.append(ConstraintCandidate(device: device, order: order, sound: capabilities, aims: aims))
        }
        return try select(among: candidates, aims: aims)
    }

    private static func select<Configuration>(
        among candidates: [ConstraintCandidate<Configuration>], aims: CapabilityAims
    ) throws(ConstraintFailure) -> ConstraintSelection<Configuration>? {
        let ranked = candidates.sorted { $0.rank < $1.rank }
        guard let best = ranked.first else { return nil }
        if let failure = best.failure(aims) { throw failure }
        return ConstraintSelection(
            device: best.device, configuration: best.configuration, unmet: best.unmet,
            explanation: ConstraintExplanation(candidates: ranked.map(\.explained), reason: reason(of: ranked)))
    }

    private static func reason<Configuration>(of ranked: [ConstraintCandidate<Configuration>]) -> String {
        let name = ranked[0].device.info.name
        guard ranked.count > 1 else { return "\(name) is the only device." }
        return "\(name) rather than \(ranked[1].device.info.name): \(ranked[0].rank.advantage(over: ranked[1].rank))."
    }
}

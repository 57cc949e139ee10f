/// One channel of a microphone: learns its echo path, takes the echo out, and suppresses the rest.
final class EchoMicrophone {
    /// What is kept from block to block of the energies that tell a filter that has gone wrong, and of those that tell
    /// one that helps.
    private static let shortMemory: Float = 0.8
    private static let longMemory: Float = 0.99

    /// A filter that makes the sound louder by this has learnt a path that is no longer there. What it leaves in a
    /// pause, compared to the sound before it, is nothing to worry about.
    private static let wrong: Float = 2.5
    private static let negligible: Float = 0.01

    /// A filter that leaves less than this helps.
    private static let helpful: Float = 0.25

    /// By how much fainter than presumed an echo may come back, and by how much louder it is worth beginning anew.
    private static let faintest: Float = 0.01
    private static let louder: Float = 4

    /// How unsure of itself a filter is made: always, for the second in which it begins, and by the share of what it
    /// leaves that its own echo explains, above what chance explains.
    private static let calm: Float = 1e-4
    private static let eagerness: Float = 1e-3
    private static let eagernessKept: Float = 0.995
    private static let correction: Float = 3e-3
    private static let chance: Float = 0.15

    /// What is heard goes in here, and what is left of it comes out.
    let block = VectorBuffer(count: EchoBlock.sampleCount)

    let filter: EchoFilter

    /// What was heard before the block.
    let history = BlockHistory()

    private let suppressor: ResidualSuppressor
    private var heard: (short: Float, long: Float) = (0, 0)
    private var left: (short: Float, long: Float) = (0, 0)
    private var played: Float = 0

    /// The power of the path, as it was found and as the filter was told.
    private var gain: Float = 0
    private var presumedGain: Float = 0
    private var eagerness: Float = 0

    init(transform: RealTransform) {
        filter = EchoFilter(transform: transform)
        suppressor = ResidualSuppressor(transform: transform)
    }

    /// Whether the filter has been taking out the most of what was heard in the last half second.
    var isHelping: Bool { left.long < Self.helpful * heard.long }

    /// The echo comes by another path, of which only the power is known; the power that is heard now may be less, as
    /// when the microphone was muted.
    func restart(gain: Float) {
        self.gain = max(self.gain, gain)
        begin(gain: self.gain)
    }

    /// The echo may be as loud as this. A filter that was told of a fainter one when the microphone was muted would
    /// take for ever to learn it.
    func expect(gain: Float) {
        guard gain > Self.louder * presumedGain, self.gain > Self.louder * presumedGain, !isHelping else { return }
        begin(gain: min(gain, self.gain))
    }

    /// After a pause.
    func resume() {
        suppressor.resume()
        history.removeAll()
    }

    /// Cleans the block in its place. Answers false when the filter had gone wrong, and begins anew.
    func clean(_ reference: PlayedReference) -> Bool {
        eagerness *= Self.eagernessKept
        filter.unrest = Self.calm + eagerness + Self.correction * max(0, suppressor.misfit - Self.chance)
        filter.cancel(block, far: reference.far)
        let (before, after) = (block.energy, filter.residual.energy)
        heard = (Self.shortMemory * heard.short + before, Self.longMemory * heard.long + before)
        left = (Self.shortMemory * left.short + after, Self.longMemory * left.long + after)
        played = Self.longMemory * played + reference.block.energy
        let isRight = left.short <= Self.wrong * heard.short + Self.negligible * heard.long
        if isRight { block.replace(at: 0, with: filter.residual) }
        suppressor.suppress(block, echo: filter.echo, uncertainty: filter.uncertainty)
        if !isRight { begin(gain: max(Self.faintest * gain, min(gain, heard.long / (played + 1)))) }
        return isRight
    }

    private func begin(gain: Float) {
        presumedGain = gain
        eagerness = Self.eagerness
        filter.reset(gain: gain)
        left = heard
    }
}

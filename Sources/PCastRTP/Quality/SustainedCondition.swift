import PCastMedia

/// A condition with hysteresis: it holds once it was seen for a while without a break, and until it was not seen for
/// another while.
struct SustainedCondition: Sendable {
    private let onset: TimeSpan
    private let release: TimeSpan
    private(set) var holds = false
    /// Since when what is seen is the contrary of what holds.
    private var contrarySince: Instant?

    init(onset: TimeSpan, release: TimeSpan) {
        self.onset = onset
        self.release = release
    }

    /// - Parameter isSeen: nil where nothing is known: then nothing changes, and a while begins anew.
    mutating func observe(_ isSeen: Bool?, at now: Instant) {
        guard let isSeen, isSeen != holds else {
            contrarySince = nil
            return
        }
        let since = contrarySince ?? now
        contrarySince = since
        guard now - since >= (isSeen ? onset : release) else { return }
        holds = isSeen
        contrarySince = nil
    }
}

import PCastMedia

/// Decides when a camera's light is to be on, by how bright its pictures are.
///
/// The light brightens the very picture that it is judged by, and the camera exposes accordingly, so the picture with the
/// light on does not tell whether it is still needed. The light goes on when the picture has been dark for a while. After
/// that it is tried without, for at most a second: when the picture becomes brighter still, as when somebody switches the
/// room's light on, and else after a minute, and then after twice as long each time that it was still dark, up to a
/// quarter of an hour. What is bright enough without the light is brighter than what is dark, so that twilight does not
/// make it flicker.
struct LightMeter {
    /// Means from 0 to 1. A lit room is exposed to 0.3 to 0.5; a picture in the dark that the camera can expose no longer
    /// is below 0.15.
    private static let dark = 0.15
    private static let bright = 0.22
    /// By how much the picture becomes brighter when more than the light lights it.
    private static let rise = 0.2

    private static let darkness = TimeSpan.seconds(1)
    /// Exposure follows a change of light within a second or two.
    private static let settling = TimeSpan.seconds(3)
    private static let riseLength = TimeSpan.seconds(2)
    private static let probeLength = TimeSpan.seconds(1)
    private static let shortestInterval = TimeSpan.seconds(60)
    private static let longestInterval = TimeSpan.seconds(15 * 60)

    private enum Phase {
        case unlit(darkSince: Instant?)
        case lit(since: Instant, settled: Double?, brightSince: Instant?)
        case probing(since: Instant)
    }

    private var phase = Phase.unlit(darkSince: nil)
    /// Until the next trial, and since when the light has been off for good.
    private var interval = LightMeter.shortestInterval
    private var offSince: Instant?

    /// Whether the light is to be on.
    var isOn: Bool {
        if case .lit = phase { return true }
        return false
    }

    /// - Parameters:
    ///   - brightness: of a picture taken with the light as `isOn` said, from 0 to 1.
    ///   - now: never earlier than before.
    mutating func observe(_ brightness: Double, at now: Instant) {
        switch phase {
        case .unlit(let darkSince): watchDark(brightness, darkSince, now)
        case .lit(let since, let settled, let brightSince): watchLit(brightness, since, settled, brightSince, now)
        case .probing(let since): probe(brightness, since, now)
        }
    }

    private mutating func watchDark(_ brightness: Double, _ darkSince: Instant?, _ now: Instant) {
        guard brightness < Self.dark else { return phase = .unlit(darkSince: nil) }
        guard let darkSince else { return phase = .unlit(darkSince: now) }
        guard now - darkSince >= Self.darkness else { return }
        // Dark again at once: the trial was wrong, and the next one waits longer.
        if let offSince, now - offSince < Self.shortestInterval { lengthen() } else { interval = Self.shortestInterval }
        light(now)
    }

    private mutating func watchLit(
        _ brightness: Double, _ since: Instant, _ settled: Double?, _ brightSince: Instant?, _ now: Instant
    ) {
        if now - since >= interval { return phase = .probing(since: now) }
        guard now - since >= Self.settling else { return }
        guard let settled else { return phase = .lit(since: since, settled: brightness, brightSince: nil) }
        guard brightness >= settled + Self.rise else {
            return phase = .lit(since: since, settled: min(settled, brightness), brightSince: nil)
        }
        guard let brightSince else { return phase = .lit(since: since, settled: settled, brightSince: now) }
        if now - brightSince >= Self.riseLength { phase = .probing(since: now) }
    }

    private mutating func probe(_ brightness: Double, _ since: Instant, _ now: Instant) {
        guard now - since >= Self.probeLength else { return }
        if brightness >= Self.bright {
            phase = .unlit(darkSince: nil)
            offSince = now
        } else {
            lengthen()
            light(now)
        }
    }

    private mutating func light(_ now: Instant) { phase = .lit(since: now, settled: nil, brightSince: nil) }

    private mutating func lengthen() { interval = min(interval * 2, Self.longestInterval) }
}

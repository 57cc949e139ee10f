internal import PCastCore

/// How much is loaded ahead of what is read, and kept behind it.
struct LoaderBounds: Sendable {
    var ahead: TimeSpan
    /// What was read stays for so long, to be gone back in without the network.
    var behind: TimeSpan
    /// In bytes, all that is kept; with a segment at least.
    var bytes: Int

    static let media = LoaderBounds(
        ahead: .seconds(30 as Int64), behind: .seconds(10 as Int64), bytes: 48 << 20)
    static let sound = LoaderBounds(
        ahead: .seconds(30 as Int64), behind: .seconds(10 as Int64), bytes: 8 << 20)
    static let text = LoaderBounds(
        ahead: .seconds(60 as Int64), behind: .seconds(10 as Int64), bytes: 1 << 20)
}

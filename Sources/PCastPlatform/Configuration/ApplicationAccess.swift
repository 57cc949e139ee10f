import PCastCore

/// The access to this platform that clients have by the secret of an application.
struct ApplicationAccess: Sendable {
    let directory: StreamDirectory
    let recordings: RecordingService
    let ingest: IngestService
    let names: NamedStreamService
    let dashboard: DashboardAccess

    /// Ends what depends on the former secret of an application: logins, and signed addresses of packaged streams and
    /// recordings. Its streams continue.
    func revokeSecret(of application: ApplicationID) async {
        dashboard.logOut(application)
        directory.packaging?.revokeAccess(to: [application])
        await recordings.revokeAccess(to: [application])
    }

    /// Ends everything of an application that was removed: also its streams, its stream keys and its declared streams.
    func revokeAll(of application: ApplicationID) async {
        await revokeSecret(of: application)
        await ingest.access.keysChanged()
        for name in await names.states(of: application) { _ = await names.setOn(false, name.name, of: application) }
        for stream in await directory.list(application) {
            _ = await directory.end(stream.stream.id, of: application, reason: .custom, description: "access revoked")
        }
    }
}

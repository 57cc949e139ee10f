import CXCB
import Glibc
import PCastIO

/// Shared memory that the server writes images to (MIT-SHM), because the socket is too slow for frames of a screen. The
/// kernel frees it after both processes have detached it, even if they crash.
final class XSharedMemory {
    let byteCount: Int
    let address: UnsafeMutableRawPointer
    let segment: xcb_shm_seg_t
    private let server: XServer

    /// Returns nil if the server cannot attach the memory, because it is on another machine or in another namespace.
    init?(byteCount: Int, server: XServer) {
        let id = shmget(IPC_PRIVATE, byteCount, 0o600)
        guard id >= 0 else { return nil }
        // The segment is marked for removal after its last user detaches it.
        defer { shmctl(id, IPC_RMID, nil) }
        guard let address = shmat(id, nil, 0), Int(bitPattern: address) != -1 else { return nil }
        segment = xcb_generate_id(server.connection)
        guard server.confirm(xcb_shm_attach_checked(server.connection, segment, UInt32(id), 0)) else {
            shmdt(address)
            return nil
        }
        self.byteCount = byteCount
        self.address = address
        self.server = server
    }

    deinit {
        let (connection, segment) = (server.connection, segment)
        BrokenPipe.blocked {
            xcb_shm_detach(connection, segment)
            _ = xcb_flush(connection)
        }
        shmdt(address)
    }
}

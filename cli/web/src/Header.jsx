function serverLine(server) {
  if (!server.connected) return server.error ?? 'not connected'
  return server.tools.length === 1 ? '1 tool' : `${server.tools.length} tools`
}

function Servers({ servers }) {
  const up = servers.filter((server) => server.connected).length
  const label = servers.length === 1 ? '1 server' : `${servers.length} servers`
  return (
    <details className="servers" data-testid="servers">
      <summary>
        <span className={up === servers.length ? 'dot ok' : 'dot bad'} aria-hidden="true" />
        {up === servers.length ? label : `${up} of ${label}`}
      </summary>
      <ul>
        {servers.map((server) => (
          <li key={server.name} data-testid="server" data-connected={server.connected}>
            <span className={server.connected ? 'dot ok' : 'dot bad'} aria-hidden="true" />
            <strong>{server.name}</strong> <span className="muted">{server.url}</span>
            <div className={server.connected ? 'muted' : 'bad-text'}>{serverLine(server)}</div>
            {server.tools.length > 0 && <div className="tools">{server.tools.join(', ')}</div>}
          </li>
        ))}
      </ul>
    </details>
  )
}

/** Name, model, connected servers, and the way to start over. */
export function Header({ info, onNewChat }) {
  return (
    <header className="top">
      <h1>
        <img src="./assets/icon.svg" alt="" width="24" height="24" /> Roscius
      </h1>
      <div className="about">
        {info?.model && (
          <span className="chip" data-testid="model" title="The model that answers">
            {info.model}
          </span>
        )}
        {info && info.servers.length > 0 && <Servers servers={info.servers} />}
      </div>
      <button type="button" data-testid="new-chat" onClick={onNewChat}>
        New chat
      </button>
    </header>
  )
}

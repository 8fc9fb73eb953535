import { Component, useEffect, useState } from 'react'
import { Chat } from './Chat.jsx'
import { Header } from './Header.jsx'
import { fetchInfo } from './lib/api.js'
import { browserStorage, openThread, startThread, threadStore } from './lib/storage.js'

const storage = browserStorage()

function openConversation(threadId) {
  return { threadId, store: threadStore({ storage }) }
}

/** Keeps a fault in drawing from leaving an empty page that reloads into it. */
class Guard extends Component {
  state = { fault: undefined }

  static getDerivedStateFromError(fault) {
    return { fault }
  }

  render() {
    if (!this.state.fault) return this.props.children
    return (
      <div className="failure" role="alert" data-testid="error">
        <p>This conversation cannot be shown: {String(this.state.fault.message ?? this.state.fault)}</p>
        <button type="button" onClick={this.props.onNewChat}>
          Start a new chat
        </button>
      </div>
    )
  }
}

/** The page: header, and one conversation that a new chat replaces. */
export function App() {
  const [conversation, setConversation] = useState(() => openConversation(openThread(storage)))
  const [info, setInfo] = useState(undefined)

  useEffect(() => {
    const controller = new AbortController()
    fetchInfo(controller.signal).then((read) => {
      if (!controller.signal.aborted) setInfo(read)
    })
    return () => controller.abort()
  }, [])

  const newChat = () => {
    conversation.store.close()
    setConversation(openConversation(startThread(storage)))
  }

  return (
    <div className="page">
      <Header info={info} onNewChat={newChat} />
      <Guard key={conversation.threadId} onNewChat={newChat}>
        <Chat
          threadId={conversation.threadId}
          store={conversation.store}
          examples={info?.examples ?? []}
        />
      </Guard>
    </div>
  )
}
